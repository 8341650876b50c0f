r"""Content suppresses style in a nonlinear mixture (Rusak 2022, Fig. 1, its middle and right).

python -m experiments.train --config=configs/rusak2022/content_style.py --workdir=runs/content_style
python -m experiments.train --config=configs/rusak2022/content_style.py:sphere --workdir=...
python -m experiments.sweep --config=configs/rusak2022/content_style.py --workdir=...

Expected, not run here at full length: the encoder's output reads content (`content_adjusted_r2`)
better than style (`style_adjusted_r2`), the more so the more of the latents are content. The steps,
batch and encoder are those of the public code; the paper states none, and draws an encoder as wide
as the data: --model='mlp,widths=(10,10,10,10,10,10,10),head_widths=()'.
Time: not run here. The arg 'smoke' (a narrow encoder, 2 steps) takes under a minute on a laptop.
Data: none; latents are drawn anew at every visit, and the test examples are 6,144 fresh draws.
"""

from ml_collections import ConfigDict

from configs.sweeps import product

LOSSES = {'box': 'box_info_nce', 'sphere': 'sphere_info_nce'}
LAWS = {'box': 'normal', 'sphere': 'von_mises_fisher'}


def get_config(arg=''):
    """The config; arg is the space of the latents ('' is 'box'), or 'smoke', which is tiny."""
    if arg not in ('', 'smoke', *LOSSES):
        choices = ('', 'smoke', *LOSSES)
        raise ValueError(f"the config's argument is {arg!r}, not one of: {str(choices)[1:-1]}.")
    space = arg if arg in LOSSES else 'box'
    config = ConfigDict()
    config.seed = 0
    config.batch_size = 6144
    config.num_steps = 100_001
    config.log_every = 250
    config.checkpoint_every = 5000
    config.evaluate_every = 5000
    config.data = dict(
        source='synthetic:6144',
        data_dir='',
        probing='content_style',
        space=space,
        dimensions=10,
        content_dimensions=5,
        conditional=LAWS[space],
    )
    config.views = dict(name='none')
    config.model = dict(name='mlp', widths=(100, 500, 500, 500, 500, 100, 10), head_widths=())
    config.loss = dict(name=LOSSES[space], temperature=1.0)
    config.optimizer = dict(name='adam', learning_rate=1e-4, schedule='constant')
    config.evaluation = dict(name='identifiability')
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 64, 1
        config.evaluate_every = 0
        config.data.source = 'synthetic:500'
        config.model.widths = (20, 10)
    return config


def sweep():
    """How much of ten latents is content, three seeds."""
    return product(seed=(0, 1, 2), data__content_dimensions=(0, 2, 5, 8))


def figure(config):
    """How to draw the sweep."""
    return dict(
        title='The more of the latents are content, the less of the style is read',
        x='data.content_dimensions',
        x_label=f'content dimensions of {config.data.dimensions}',
        y='style_adjusted_r2',
        y_label='adjusted R2 of the style',
    )
