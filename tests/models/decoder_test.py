"""The variational decoder: its code has the distribution that its heads say."""

import jax
import jax.numpy as jnp
import numpy as np

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
