"""A strided convolution that each platform computes in its faster form, with equal outputs.

On the CPU, XLA's gradient of a strided convolution with few channels is slow, and a matrix
product of image patches trains about twice as fast (`python -m benchmarks.train`).
"""

import flax.linen as nn
import jax
import jax.numpy as jnp


class Convolution(nn.Module):
    """A VALID convolution without bias.

    Attributes:
      features: number of output channels.
      kernel_size: side of the square kernel.
      stride: of both axes.
      kernel_init: initialiser of the kernel [side, side, channels, features].
      constant_channels: how many channels, the last ones, are constant over the places of each
        image: they are multiplied once an image, by the sum of their kernel, not at each place. The
        outputs and the kernel's gradient are equal up to rounding; the gradient by an image is not.
    """

    features: int
    kernel_size: int
    stride: int
    kernel_init: nn.initializers.Initializer = nn.initializers.glorot_uniform()
    constant_channels: int = 0

    @nn.compact
    def __call__(self, images):
        """[n, h, w, c] to [n, (h - side) // stride + 1, (w - side) // stride + 1, features]."""
        shape = (self.kernel_size, self.kernel_size, images.shape[-1], self.features)
        kernel = self.param('kernel', self.kernel_init, shape)
        varying = images.shape[-1] - self.constant_channels
        if not 0 < varying <= images.shape[-1]:
            raise ValueError(
                f'constant_channels is {self.constant_channels}; of images with '
                f'{images.shape[-1]} channels it is one of 0..{images.shape[-1] - 1}.'
            )
        # Chosen when the program is lowered, so that compiling for a TPU on a CPU host takes the
        # TPU's form.
        outputs = jax.lax.platform_dependent(
            images[..., :varying],
            kernel[:, :, :varying],
            cpu=lambda images, kernel: by_patches(images, kernel, self.stride),
            default=lambda images, kernel: by_convolution(images, kernel, self.stride),
        )
        if not self.constant_channels:
            return outputs
        once = images[:, 0, 0, varying:] @ jnp.sum(kernel[:, :, varying:], axis=(0, 1))
        return outputs + once[:, None, None, :]


def by_patches(images, kernel, stride):
    """A VALID convolution as one matrix product of image patches [n, h', w', kh * kw * c]."""
    kernel_height, kernel_width, _, features = kernel.shape
    tall = stride * ((images.shape[1] - kernel_height) // stride) + 1
    wide = stride * ((images.shape[2] - kernel_width) // stride) + 1
    patches = jnp.concatenate(
        [
            images[:, i : i + tall : stride, j : j + wide : stride]
            for i in range(kernel_height)
            for j in range(kernel_width)
        ],
        axis=-1,
    )
    places = patches.shape[:3]
    # One row a place: a gradient that sums over three axes would transpose all patches first, which
    # took a quarter of the notebook's step on one core.
    rows = patches.reshape(-1, patches.shape[-1])
    return (rows @ kernel.reshape(-1, features)).reshape(*places, features)


def by_convolution(images, kernel, stride):
    """The same VALID convolution through `lax.conv_general_dilated`."""
    return jax.lax.conv_general_dilated(
        images,
        kernel,
        window_strides=(stride, stride),
        padding='VALID',
        dimension_numbers=('NHWC', 'HWIO', 'NHWC'),
    )
