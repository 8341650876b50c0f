"""Measurements of embeddings: arrays in, floats out. NumPy or JAX arrays from any framework."""

from contrastive_jax.evaluation.alignment import alignment, alignment_interval, same_class_alignment
from contrastive_jax.evaluation.class_pairs import disjoint_same_class_pairs, same_class_pairs
from contrastive_jax.evaluation.code_floors import log_sum_exp_of_codes
from contrastive_jax.evaluation.collapse import (
    alpha_req,
    collapse_indicators,
    collapse_warning,
    deviation_per_dimension,
    effective_rank,
    rankme,
)
from contrastive_jax.evaluation.colours import colour_histogram, colour_r2
from contrastive_jax.evaluation.correlation import correlations
from contrastive_jax.evaluation.factor_probes import probe_factors
from contrastive_jax.evaluation.factors import adjusted_r2
from contrastive_jax.evaluation.hardness import hardness
from contrastive_jax.evaluation.information_ceilings import ideal_class_estimate
from contrastive_jax.evaluation.knn import knn_accuracy
from contrastive_jax.evaluation.linear_probe import linear_probe, linear_probe_by_class
from contrastive_jax.evaluation.local_features import (
    cluster_agreement,
    cluster_map_picture,
    cluster_maps,
    image_patches,
    layer_agreements,
)
from contrastive_jax.evaluation.multi_label_probe import multi_label_probe
from contrastive_jax.evaluation.mutual_information import (
    estimate_mutual_information,
    mutual_information_of_loss,
)
from contrastive_jax.evaluation.random_projections import random_projection_histogram
from contrastive_jax.evaluation.separation import local_separation
from contrastive_jax.evaluation.sgd_probe import sgd_probe
from contrastive_jax.evaluation.similarity_histogram import similarity_histogram
from contrastive_jax.evaluation.spectrum import (
    covariance_spectrum,
    dimensions_above,
    weight_spectrum,
)
from contrastive_jax.evaluation.tolerance import tolerance, tolerance_as_printed, tolerance_interval
from contrastive_jax.evaluation.uniformity import (
    uniformity,
    uniformity_interval,
    uniformity_of_sphere,
)

__all__ = [
    'adjusted_r2',
    'alignment',
    'alignment_interval',
    'alpha_req',
    'cluster_agreement',
    'cluster_map_picture',
    'cluster_maps',
    'collapse_indicators',
    'collapse_warning',
    'colour_histogram',
    'colour_r2',
    'correlations',
    'covariance_spectrum',
    'deviation_per_dimension',
    'dimensions_above',
    'disjoint_same_class_pairs',
    'effective_rank',
    'estimate_mutual_information',
    'hardness',
    'ideal_class_estimate',
    'image_patches',
    'knn_accuracy',
    'layer_agreements',
    'linear_probe',
    'linear_probe_by_class',
    'local_separation',
    'log_sum_exp_of_codes',
    'multi_label_probe',
    'mutual_information_of_loss',
    'probe_factors',
    'random_projection_histogram',
    'rankme',
    'same_class_alignment',
    'same_class_pairs',
    'sgd_probe',
    'similarity_histogram',
    'tolerance',
    'tolerance_as_printed',
    'tolerance_interval',
    'uniformity',
    'uniformity_interval',
    'uniformity_of_sphere',
    'weight_spectrum',
]
