"""Probing datasets: sources whose factors are known. What `config.data.probing` may say."""

from contrastive_jax.data.probing.cdp import cdp
from contrastive_jax.data.probing.content_style import content_style
from contrastive_jax.data.probing.digit_on_image import digit_on_image
from contrastive_jax.data.probing.gaussian_pair import gaussian_pair
from contrastive_jax.data.probing.k_bit_images import k_bit_images
from contrastive_jax.data.probing.multidigits import multidigits
from contrastive_jax.data.probing.plain import plain
from contrastive_jax.data.probing.randbit import randbit
from contrastive_jax.data.probing.spirals import spirals

__all__ = [
    'cdp', 'content_style', 'digit_on_image', 'gaussian_pair', 'k_bit_images', 'multidigits',
    'plain', 'randbit', 'spirals',
]  # fmt: skip
