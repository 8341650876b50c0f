"""Residual networks: SimCLR's form and torchvision's, with widths, stems and selective kernels.

Submodules carry torchvision's names ('conv1', 'bn1', 'layer1_0', 'downsample_0'), so that
`torchvision_weights` translates weights name by name.
"""

import flax.linen as nn
import jax.numpy as jnp

from contrastive_jax.errors import BadInput
from contrastive_jax.models.heads import projection_head

# Residual blocks in each of the four groups.
BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}
STEMS = ('imagenet', 'cifar')
DTYPES = ('float32', 'bfloat16')

# The variants differ in these two and in where a block projects its shortcut.
KERNEL_INIT = {
    'simclr': nn.initializers.lecun_normal(),
    'torchvision': nn.initializers.variance_scaling(2.0, 'fan_out', 'normal'),
}
POOL_PADDING = {'simclr': 'SAME', 'torchvision': ((1, 1), (1, 1))}


def convolve(images, features, side, stride=1, *, variant, name):
    """A convolution without bias, padded by (side - 1) / 2 at every border."""
    return nn.Conv(
        features,
        (side, side),
        (stride, stride),
        padding=side // 2,
        use_bias=False,
        dtype=images.dtype,
        kernel_init=KERNEL_INIT[variant],
        name=name,
    )(images)


def normalize(images, train, *, name, first_scale=1.0):
    """Batch norm, computed in float32 and returned in the dtype of its input."""
    batch_norm = nn.BatchNorm(
        use_running_average=not train,
        momentum=0.9,
        epsilon=1e-5,
        scale_init=nn.initializers.constant(first_scale),
        name=name,
    )
    return batch_norm(images.astype(jnp.float32)).astype(images.dtype)


def average_four(images, stride):
    """The mean of 2x2 places; at the far borders of those inside, or at stride 2 with zeros."""
    height, width = images.shape[1:3]
    mode = 'edge' if stride == 1 else 'constant'
    padded = jnp.pad(images, ((0, 0), (0, 1), (0, 1), (0, 0)), mode=mode)
    corners = [
        padded[:, i : height + i : stride, j : width + j : stride] for i in (0, 1) for j in (0, 1)
    ]
    return sum(corners) / 4


class SelectiveKernels(nn.Module):
    """Two 3x3 convolutions, mixed channel by channel by a softmax that the image decides.

    Attributes:
      features: number of output channels.
      stride: of both axes.
      variant: of the network.
    """

    features: int
    stride: int
    variant: str

    @nn.compact
    def __call__(self, images, train):
        """[n, h, w, c] to [n, ceil(h / stride), ceil(w / stride), features]."""
        both, inner = 2 * self.features, max(self.features // 16, 32)
        hidden = convolve(images, both, 3, self.stride, variant=self.variant, name='conv')
        hidden = nn.relu(normalize(hidden, train, name='bn'))
        streams = hidden.reshape(*hidden.shape[:3], 2, self.features)
        pooled = jnp.mean(streams.sum(3), (1, 2), keepdims=True)
        pooled = convolve(pooled, inner, 1, variant=self.variant, name='squeeze')
        pooled = nn.relu(normalize(pooled, train, name='squeeze_bn'))
        logits = convolve(pooled, both, 1, variant=self.variant, name='expand')
        shares = nn.softmax(logits.reshape(-1, 1, 1, 2, self.features), axis=3)
        return (streams * shares).sum(3)


class ResidualBlock(nn.Module):
    """The two sides of a residual block, whose output is the ReLU of their sum.

    Attributes:
      features: channels of the 3x3 convolutions.
      stride: of both axes.
      bottleneck: a 1x1, a 3x3 with the stride and a 1x1 convolution to 4 times the channels; if
        not, two 3x3 convolutions, the first with the stride.
      project: whether the shortcut is a 1x1 convolution with batch norm, or the input itself.
      variant: of the network.
      selective_kernels: in place of a bottleneck's 3x3 convolution; in both forms the shortcut
        averages 2x2 places before a 1x1 convolution of stride 1.
      last_scale: what the scale of the last batch norm starts from.
    """

    features: int
    stride: int
    bottleneck: bool
    project: bool
    variant: str
    selective_kernels: bool
    last_scale: float

    @nn.compact
    def __call__(self, images, train):
        """[n, h, w, c] to shortcut and branch, [n, ceil(h / stride), ceil(w / stride), d] both."""
        branch = (self._bottleneck if self.bottleneck else self._basic)(images, train)
        if not self.project:
            return images, branch
        stride = self.stride
        if self.selective_kernels:
            images, stride = average_four(images, stride), 1
        shortcut = self._convolve(images, branch.shape[-1], 1, stride, name='downsample_0')
        return normalize(shortcut, train, name='downsample_1'), branch

    def _basic(self, images, train):
        hidden = self._convolve(images, self.features, 3, self.stride, name='conv1')
        hidden = nn.relu(normalize(hidden, train, name='bn1'))
        hidden = self._convolve(hidden, self.features, 3, name='conv2')
        return normalize(hidden, train, name='bn2', first_scale=self.last_scale)

    def _bottleneck(self, images, train):
        hidden = self._convolve(images, self.features, 1, name='conv1')
        hidden = nn.relu(normalize(hidden, train, name='bn1'))
        if self.selective_kernels:
            mixed = SelectiveKernels(self.features, self.stride, self.variant, name='conv2')
            hidden = mixed(hidden, train)
        else:
            hidden = self._convolve(hidden, self.features, 3, self.stride, name='conv2')
            hidden = nn.relu(normalize(hidden, train, name='bn2'))
        hidden = self._convolve(hidden, 4 * self.features, 1, name='conv3')
        return normalize(hidden, train, name='bn3', first_scale=self.last_scale)

    def _convolve(self, images, features, side, stride=1, *, name):
        return convolve(images, features, side, stride, variant=self.variant, name=name)


class ResNet(nn.Module):
    """A stem, four groups of residual blocks, the mean over places to h, and a head to z.

    Attributes:
      depth: 18, 34, 50, 101, 152 or 200.
      channels: of the stem and the first group, 64 times the width; each group has twice the last.
      stem, variant, selective_kernels, dtype: as in `resnet`.
      last_scale: what the scale of the last batch norm of each block starts from.
      head: makes the module from h to z, given the dimension of h; None makes z and h the same.
    """

    depth: int
    channels: int
    stem: str
    variant: str
    selective_kernels: bool
    last_scale: float
    dtype: str
    head: object

    @nn.compact
    def __call__(self, images, train):
        """Images [n, h, w, c] to features h [n, f] and projections z [n, d], both float32."""
        if images.ndim != 4:
            raise ValueError(f'resnet needs images [n, h, w, c], got the shape {images.shape}.')
        hidden = self._stem(images.astype(self.dtype), train)
        for group, count in enumerate(BLOCKS[self.depth], start=1):
            for place in range(count):
                block = self._block(group, place, hidden.shape[-1])
                shortcut, branch = block(hidden, train)
                hidden = nn.relu(shortcut + branch)
            self._expose(f'block_group_{group}', hidden)
        self._expose('last_input', shortcut)
        self._expose('last_branch', branch)
        h = jnp.mean(hidden.astype(jnp.float32), (1, 2))
        return h, h if self.head is None else self.head(h.shape[-1])(h, train)

    def _stem(self, images, train):
        """The convolutions before the first group, and its max-pool."""
        if self.stem == 'cifar':
            sizes = [(self.channels, 3, 1)]
        elif self.selective_kernels:
            sizes = [(self.channels // 2, 3, 2), (self.channels // 2, 3, 1), (self.channels, 3, 1)]
        else:
            sizes = [(self.channels, 7, 2)]
        hidden = images
        for number, (features, side, stride) in enumerate(sizes, start=1):
            name = f'conv{number}'
            hidden = convolve(hidden, features, side, stride, variant=self.variant, name=name)
            hidden = nn.relu(normalize(hidden, train, name=f'bn{number}'))
        if self.stem == 'cifar':
            return hidden
        return nn.max_pool(hidden, (3, 3), (2, 2), padding=POOL_PADDING[self.variant])

    def _block(self, group, place, channels):
        """Block `place` of a group, for an input of so many channels."""
        features = self.channels * 2 ** (group - 1)
        bottleneck = self.depth >= 50
        stride = 2 if group > 1 and place == 0 else 1
        changes_shape = stride > 1 or channels != features * (4 if bottleneck else 1)
        return ResidualBlock(
            features=features,
            stride=stride,
            bottleneck=bottleneck,
            project=place == 0 and (self.variant == 'simclr' or changes_shape),
            variant=self.variant,
            selective_kernels=self.selective_kernels,
            last_scale=self.last_scale,
            name=f'layer{group}_{place}',
        )

    def _expose(self, name, images):
        """Keeps an array for `intermediates`; costs nothing where they are not asked for."""
        self.sow('intermediates', name, images, reduce_fn=lambda _, new: new)


def intermediates(network, variables, images):
    """What a residual network holds before its last mean, in inference mode.

    Args:
      network: what `resnet` returns.
      variables: its parameters and batch statistics.
      images: [n, h, w, c].

    Returns:
      A dict of arrays [n, h', w', d]: 'block_group_1' to 'block_group_4', and of the last block
      'last_input' and 'last_branch', for which block_group_4 = ReLU(last_input + last_branch);
      h is its mean over places. They have the network's dtype.

    Source: local features of Chen 2021, section 4; the two sides of h that DirectCLR explains,
      Rusak 2022, appendix E.
    """
    _, kept = network.apply(variables, images, train=False, mutable=['intermediates'])
    return {name: kept['intermediates'][name] for name in kept['intermediates']}


def resnet(
    *,
    depth=50,
    width=1,
    stem='imagenet',
    variant='simclr',
    selective_kernels=False,
    zero_last_scale=True,
    dtype='float32',
    head_layers=2,
    head_width=None,
    head_batch_norm=True,
    dimensions=128,
):
    """A residual network: images to h [n, 512 or 2048 times width] and z [n, dimensions].

    Args:
      depth: 18 or 34 (two 3x3 convolutions a block), 50, 101, 152 or 200 (bottlenecks, with the
        stride in the 3x3 convolution).
      width: multiplies the channels; 64 * width must be whole, so 0.5 is allowed.
      stem: 'imagenet' (7x7 convolution of stride 2, 3x3 max-pool of stride 2) or 'cifar' (3x3
        convolution of stride 1, for images of about 32x32).
      variant: 'simclr' (a projection shortcut in the first block of every group, max-pool padded
        at the far borders only, LeCun's initialisation) or 'torchvision' (a projection only where
        shapes differ, max-pool padded at all borders, He's initialisation by fan-out). Weights of
        torchvision and timm need the latter. Both have batch norm of momentum 0.9 and epsilon
        1e-5; its running variance is that of the batch, where PyTorch has n / (n - 1) times that.
      selective_kernels: SimCLRv2's: two 3x3 convolutions mixed by attention in each bottleneck,
        with ResNet-D's stem of three 3x3 convolutions and its averaging shortcuts; 'simclr' only.
      zero_last_scale: whether the last batch norm of each block starts at scale 0, so that the
        block starts as its shortcut; torchvision's own default is False.
      dtype: 'float32' or 'bfloat16', of the encoder's activations. Parameters, batch statistics,
        h, the head and z are float32. Gradients of kernels are made in it and, on several chips of
        a TPU, summed in it.
      head_layers: dense layers from h to z; 0 makes z and h the same.
      head_width: of all but the last of them; as wide as h by default.
      head_batch_norm: the official head, with batch norm behind every layer; if not, dense layers
        with biases (see `heads.projection_head`).
      dimensions: of z.

    Returns:
      A Linen module: apply(variables, images [n, h, w, c], train) -> (h, z). For feature maps see
      `intermediates`.

    Raises:
      BadInput: an option that is not one of those above.
      ValueError: images that are not [n, h, w, c], while tracing.

    Source: Chen 2021 and the official SimCLR code; selective kernels: SimCLRv2 (Chen et al. 2020).
    """
    for field, value, choices in (
        ('depth', depth, tuple(BLOCKS)),
        ('stem', stem, STEMS),
        ('variant', variant, tuple(KERNEL_INIT)),
        ('dtype', dtype, DTYPES),
    ):
        if value not in choices:
            shown = ', '.join(str(choice) for choice in choices)
            raise BadInput(f'config.model.{field} is {value!r}, not one of: {shown}.')
    if not (64 * width >= 2 and float(64 * width).is_integer()):
        raise BadInput(
            f'config.model.width is {width}; 64 times it must be a whole number of at least 2.'
        )
    if selective_kernels and variant != 'simclr':
        raise BadInput(
            f'config.model.selective_kernels is True, which config.model.variant {variant!r} does '
            "not have; use 'simclr'."
        )
    return ResNet(
        depth=depth,
        channels=int(64 * width),
        stem=stem,
        variant=variant,
        selective_kernels=selective_kernels,
        last_scale=0.0 if zero_last_scale else 1.0,
        dtype=dtype,
        head=projection_head(head_layers, head_width, dimensions, head_batch_norm),
    )
