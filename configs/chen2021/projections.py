r"""What weight and temperature do to random projections of z (Chen 2021, Fig. A.1), on CIFAR-10.

python -m experiments.sweep --config=configs/chen2021/projections.py --workdir=...
python -m launch.preflight --config=configs/chen2021/projections.py --topology=v5e:2x4

SWD to the uniform hypersphere at several weights, and NT-Xent at several temperatures, 100 epochs
at batch 128; `experiments.chen2021.figures.projections.draw` makes the histograms of projections of
z of the test images from the rows of the sweep. The paper names CIFAR-10's test images and the two
families; network, length and values are unstated: those of cifar10_losses.py and
projections_laptop.py.
Expected: projections look more Gaussian, as those of a uniform sphere do, at a larger weight and at
a lower temperature.
Time: not run here; the preflight prints what a slice needs at least. The arg 'smoke' takes under a
minute on a laptop. Data: `tfds build cifar10 --file_format=array_record`, 132 MiB.
"""

from configs.chen2021 import cifar10_losses, projections_laptop


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return cifar10_losses.get_config(arg)


sweep = projections_laptop.sweep
figure = projections_laptop.figure
