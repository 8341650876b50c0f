r"""Local features of ResNet-50 (2x) on ImageNet (Chen 2021, Figs. 3 and 4).

python -m experiments.sweep --config=configs/chen2021/local_features.py --workdir=runs/local
python -m experiments.chen2021.draw_local_features --output=figure_3.png \
    --simclr=runs/local/loss=... --supervised=runs/local/loss=... --data_dir=... \
    --source=tfds:imagenet2012,size=448,fit=centre --ids=7,1234 --patch=14

The second command draws, of the test images with these ids at 448 pixels, the clusters of block
groups 2 to 4 of both networks and of the RGB values of patches of 14 pixels, for several K;
--source=tfds:coco/2017,size=448 takes images of COCO. The paper says neither K, nor whether
clusters are of one image or of all (here: of one), nor how its two networks were trained: here with
its common settings (LARS, learning rate 0.075 sqrt(B), d = 128, temperature 0.2) at batch 4,096 for
100 epochs, SimCLR's for the network, crop and flip for the supervised one.

Expected: pictures, no number; later groups of both networks go by object parts, raw pixels by
colour. configs/chen2021/local_features_laptop.py measures it where places are known. Not run here.
Time: not run here; python -m launch.preflight prints what a slice needs at least. The arg 'smoke'
(two steps of a narrow ResNet-18 on the photographs of the extra `photographs`) takes a minute.
Data: `tfds build imagenet2012 --file_format=array_record`, 156 GiB.
"""

from configs.chen2021 import imagenet_losses

BATCH = 4096
SIMCLR = dict(name='nt_xent', temperature=0.2)


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    if arg not in ('', 'smoke'):
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    config = imagenet_losses.get_config(arg)
    config.loss = SIMCLR
    if arg != 'smoke':
        config.batch_size = BATCH
        config.num_steps = imagenet_losses.EXAMPLES * imagenet_losses.EPOCHS // BATCH + 1
        config.optimizer.warmup = imagenet_losses.EXAMPLES * imagenet_losses.WARMUP_EPOCHS // BATCH
        config.model.width = 2
    return config


def sweep():
    """SimCLR and its supervised twin, which sees no colour distortion."""
    return [
        {'loss': 'nt_xent,temperature=0.2', 'views.name': 'simclr_imagenet'},
        {'loss': 'cross_entropy', 'views.name': 'crop_and_flip'},
    ]


def figure(config):
    """How to draw the sweep; the pictures are the second command's."""
    del config
    return dict(
        title='ResNet-50 (2x) on ImageNet',
        x='loss',
        x_label='',
        y='test_accuracy',
        y_label='linear-probe accuracy',
    )
