"""The variational decoder: its code has the distribution that its heads say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contrastive_jax.errors import BadInput
from contrastive_jax.models.decoder import LARGEST_LOG_VARIANCE, variational_decoder


def test_the_code_has_the_mean_and_variance_of_its_heads():
    """With an identity for a decoder the outputs are the code itself."""
    module = variational_decoder((1, 2, 1), dimensions=2, widths=())
    constant = {'kernel': jnp.zeros((1, 2)), 'bias': jnp.asarray([1.0, -2.0])}
    params = {
        'mean': constant,
        'log_variance': {**constant, 'bias': jnp.log(jnp.asarray([0.25, 4.0]))},
        'Dense_0': {'kernel': jnp.eye(2), 'bias': jnp.zeros(2)},
    }
    count = 20_000

    def apply(seed):
        return module.apply({'params': params}, jnp.ones((count, 1)), jax.random.key(seed))

    outputs, mean, log_variance = apply(1)
    assert outputs.shape == (count, 1, 2, 1)
    code = np.float64(outputs.reshape(-1, 2))
    np.testing.assert_array_equal(mean[0], [1, -2])
    np.testing.assert_allclose(np.exp(log_variance[0]), [0.25, 4], rtol=1e-6)
    # Five standard errors: of a mean s / sqrt(n), of a variance s^2 sqrt(2 / n).
    np.testing.assert_allclose(code.mean(0), [1, -2], atol=5 * 2 / np.sqrt(count))
    np.testing.assert_allclose(code.var(0), [0.25, 4], rtol=5 * np.sqrt(2 / count))
    assert abs(np.corrcoef(code.T)[0, 1]) < 5 / np.sqrt(count)
    assert not np.array_equal(outputs, apply(2)[0])
    params['log_variance'] = {**constant, 'bias': jnp.full(2, 10 * LARGEST_LOG_VARIANCE)}
    assert np.isfinite(apply(1)[0]).all()


def test_constant_channels_are_those_of_a_decoder_with_one_kernel_at_all_places(key):
    shape, varying, width = (2, 3, 5), 2, 7
    module = variational_decoder(shape, 3, dimensions=4, widths=(width,))
    features = jax.random.normal(key, (6, 8))
    variables = module.init(key, features, key)
    outputs, *_ = module.apply(variables, features, key)
    assert outputs.shape == (6, *shape)

    def at_all_places(places, constant):
        places = places.reshape(-1, *shape[:2], varying)
        constant = jnp.broadcast_to(constant[:, None, None], (len(places), *shape[:2], 3))
        return jnp.concatenate([places, constant], axis=-1).reshape(len(places), -1)

    params = dict(variables['params'])
    places, constant = params.pop('Dense_1'), params.pop('constant')
    kernel = at_all_places(places['kernel'], constant['kernel'])
    bias = at_all_places(places['bias'][None], constant['bias'][None])[0]
    params['Dense_1'] = {'kernel': kernel, 'bias': bias}
    whole = variational_decoder(shape, dimensions=4, widths=(width,))
    expected, *_ = whole.apply({'params': params}, features, key)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


@pytest.mark.parametrize('constant', [-1, 3, 4])
def test_some_channel_varies(constant):
    sentence = f'constant_channels is {constant}; of images of 3 channels it must be from 0 to 2'
    with pytest.raises(BadInput, match=sentence):
        variational_decoder((2, 2, 3), constant)
