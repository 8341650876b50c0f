"""Outputs of torchvision's residual networks, for weights that NumPy draws from their names.

python -m tests.models.torchvision_golden

prints GOLDEN below; it needs torch and torchvision, the tests do not.
"""

import zlib

import numpy as np

# Each case: depth, side of the images, options of our network.
CASES = {
    'resnet18_63px': (18, 63, {}),
    'resnet18_cifar_32px': (18, 32, {'stem': 'cifar'}),
    'resnet50_128px': (50, 128, {}),
}
NUM_IMAGES = 3
CLASSES = 5

# Of h the mean, the mean square and the first 3 features of the first image; the first 3 logits of
# the last image; in training mode the first 3 features and the first running mean and variance of
# the second batch norm of the first block.
GOLDEN = {
    'resnet18_63px': (
        (0.2066711, 0.0997164, 0.1303941, 0.4971632, 0.3688311, 0.1967457, 0.18768, 0.5040049)
        + (0.840933, 0.8175064, 1.033974, -0.05068304, 0.6426104)
    ),
    'resnet18_cifar_32px': (
        (0.2174378, 0.1107112, 0.02557651, 0.3622901, 0.2761686, 0.2197298, 0.2603509, 0.4899426)
        + (0.7784372, 1.05511, 0.7566679, -0.05551007, 0.644331)
    ),
    'resnet50_128px': (
        (0.3106537, 0.220485, 0.0, 0.4273366, 0.4545169, 0.6306256, -0.5651792, -0.2412743)
        + (0.5407412, 0.9805021, 0.8894782, -0.0578423, 0.6452188)
    ),
}


def weights(shapes):
    """Draws for {name: shape in PyTorch's layout}, the same wherever NumPy runs.

    Kernels keep the scale of activations, scales are about 1, variances are positive.
    """
    drawn = {}
    for name, shape in shapes.items():
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        if len(shape) > 1:
            scale = np.sqrt(1 / np.prod(shape[1:]))
            array = scale * generator.standard_normal(shape, np.float32)
        elif name.endswith(('weight', 'var')):
            array = generator.uniform(0.5, 1.0, shape)
        else:
            array = 0.1 * generator.standard_normal(shape)
        drawn[name] = array.astype(np.float32)
    return drawn


def images(side):
    """[n, side, side, 3] in [0, 1]."""
    draws = np.random.default_rng(side).uniform(size=(NUM_IMAGES, side, side, 3))
    return draws.astype(np.float32)


def summary(h, logits, trained_h, running_mean, running_var):
    """The few numbers that are kept of a case."""
    parts = ([h.mean(), np.square(h).mean()], h[0, :3], logits[-1, :3], trained_h[0, :3])
    return np.concatenate([*parts, running_mean[:1], running_var[:1]])


def golden(depth, side, options):
    """The summary, by torch in float64."""
    import torch
    import torchvision

    network = getattr(torchvision.models, f'resnet{depth}')(num_classes=CLASSES)
    if options.get('stem') == 'cifar':
        network.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
        network.maxpool = torch.nn.Identity()
    tensors = network.state_dict()
    shapes = {name: tuple(t.shape) for name, t in tensors.items() if 'num_batches' not in name}
    network.load_state_dict({n: torch.from_numpy(a) for n, a in weights(shapes).items()})
    network.double()
    inputs = torch.from_numpy(np.float64(images(side)).transpose(0, 3, 1, 2))
    features = {}
    network.avgpool.register_forward_hook(lambda *args: features.update(h=args[2].flatten(1)))
    with torch.no_grad():
        logits = network.eval()(inputs)
        h = features['h'].numpy()
        network.train()(inputs)
    norm = network.layer1[0].bn2
    return summary(
        h,
        logits.numpy(),
        features['h'].numpy(),
        norm.running_mean.numpy(),
        norm.running_var.numpy(),
    )


def main():
    """Prints the golden outputs."""
    for name, case in CASES.items():
        print(name, *(f'{value:.7g}' for value in golden(*case)))


if __name__ == '__main__':
    main()
