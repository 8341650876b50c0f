r"""Digits on images: the easy feature suppresses the other (Chen 2021, Fig. 6), on ImageNet.

python -m experiments.sweep --config=configs/chen2021/digit_on_image.py \
    --workdir=runs/digit_on_image --config.data.data_dir=data

Nine copies of one of N MNIST digits lie on every image; the test images have all the digits. At the
end linear classifiers are fitted to the training images: `test_accuracy` is that of the digit,
`test_accuracy_object` that of the image's class. With few digits the former's training images lack
classes and shapes that it is tested on; `test_accuracy_all_digits` is fitted to images with all the
digits instead, so that it tells what the encoder keeps of them (not in the paper). The supervised
twin is told the class of the image.

Unstated in the paper, with the choice taken: the numbers of digits and the temperatures, epochs
(100), weight decay and warm-up (those of the official code), blend (the notebook's maximum), hosts
stretched to 224 x 224 before the views (the notebook's), the probe (logistic regression).
Expected: with N the digit's accuracy rises and the object's falls dramatically; the supervised
accuracy hardly changes (curves without numbers). Not run here. Time: not run here; the preflight
prints what a slice needs at least.
Data: `tfds build imagenet2012 --file_format=array_record`, 156 GiB, and `tfds build mnist`.
"""

from ml_collections import ConfigDict

from configs.chen2021 import at_seeds
from configs.sweeps import product

EXAMPLES, EPOCHS, BATCH = 1_281_167, 100, 1024
NUMBERS = (4, 16, 64, 256, 1024, 60_000)
TEMPERATURES = (0.05, 0.1, 0.2, 0.5)


def readings(num_digits):
    """What the evaluation reads: the digit, the object, and the digit as fitted on all digits."""
    everything = dict(factor='digit', data=dict(num_unique=num_digits))
    return dict(factor='digit', also=dict(object=dict(factor='label'), all_digits=everything))


def get_config(arg=''):
    """The config; arg 'smoke' makes it tiny, for a check that it runs."""
    config = ConfigDict()
    config.seed = 0
    config.num_steps = EXAMPLES * EPOCHS // BATCH + 1
    config.batch_size = BATCH
    config.log_every = 100
    config.checkpoint_every = 1251
    config.evaluate_every = 0
    config.data = dict(
        source='tfds:imagenet2012,size=224', data_dir='', probing='digit_on_image',
        digits='tfds:mnist', num_unique=NUMBERS[0],
    )  # fmt: skip
    config.views = dict(name='simclr_imagenet')
    config.model = dict(name='resnet', depth=50, dtype='bfloat16', head_layers=2, dimensions=128)
    config.loss = dict(name='nt_xent', temperature=0.2)
    config.optimizer = dict(
        name='lars', learning_rate=0.075, scaling='square_root', warmup=0.1, weight_decay=1e-4
    )
    config.evaluation = dict(name='linear_probe', **readings(NUMBERS[-1]))
    if arg == 'smoke':
        config.num_steps, config.batch_size, config.log_every = 2, 16, 1
        config.data.update(source='photographs,size=32,count=10', digits='digits')
        config.model = dict(name='resnet', depth=18, width=0.125, head_layers=2, dimensions=128)
        config.evaluation = dict(name='linear_probe', **readings(4000))
    elif arg:
        raise ValueError(f"the config's argument is {arg!r}, not one of: '', 'smoke'.")
    return config


def losses(temperatures):
    """The losses of the sweep as text: NT-Xent at each temperature, and with labels."""
    return (*(f'nt_xent,temperature={tau}' for tau in temperatures), 'cross_entropy')


def sweep():
    """The losses by the number of digits, three seeds."""
    return at_seeds(product(loss=losses(TEMPERATURES), data__num_unique=NUMBERS))


def figure(config):
    """How to draw the sweep: the digit against the number of digits."""
    del config
    return dict(
        title='What is learned of digits that compete with objects',
        x='data.num_unique',
        x_label='different digits on the training images',
        y='test_accuracy',
        y_label='linear-probe accuracy on the digit',
        chance=0.1,
    )
