"""Where the embeddings lie on the sphere: closeness of positives, spread, classes, neighbours."""

from contrastive_jax.evaluation.alignment import alignment_interval, same_class_alignment
from contrastive_jax.evaluation.separation import local_separation
from contrastive_jax.evaluation.similarity_histogram import similarity_histogram
from contrastive_jax.evaluation.tolerance import tolerance_interval
from contrastive_jax.evaluation.uniformity import uniformity_interval, uniformity_of_sphere
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Section, measures_of

MEANINGS = {
    'alignment': 'mean squared distance of two views, unit rows: 0 is invariance, 2 unrelated',
    'uniformity': 'log of the mean of exp(-2 |x - y|^2), lower is more even; see the ideal below',
    'uniformity_of_sphere': 'uniformity of random points in so many dimensions: the ideal',
    'tolerance': 'mean cosine of two examples of one class, self-pairs left out',
    'same_class_alignment': 'mean squared distance of the same: 2 - 2 tolerance',
    'positive_mean': 'mean cosine of two views of one example',
    'negative_mean': 'mean cosine of views of two examples',
    'overlap': 'of the two histograms: 0 apart, 1 the same',
    'separation': 'cosine of the positive minus that of the nearest negative, on average',
}


def section(material, key):
    """Alignment, uniformity, tolerance, local separation and the histogram of similarities."""
    del key
    results = {name: of_rows(rows) for name, rows in material.test.items()}
    drawn = {}
    labels = material.test_factors.get('label')
    if labels is not None and len(set(labels.tolist())) < len(labels):
        for name, rows in material.test.items():
            results[name] |= tolerance_interval(rows, labels)
            results[name]['same_class_alignment'] = same_class_alignment(rows, labels)
    for name, (a, b) in material.test_views.items():
        histogram = similarity_histogram(a, b)
        results[name] |= alignment_interval(a, b) | {
            field: histogram[field] for field in ('positive_mean', 'negative_mean', 'overlap')
        }
        nearest = local_separation(a, b, count=min(10, len(a) - 1))
        results[name]['separation'] = nearest['positive'] - nearest['negatives'][0]
        caption = f'{name}: cosines of positive and negative pairs.'
        drawn[caption] = pictures.two_histograms(name, histogram)
        caption = f'{name}: cosine of the positive and of the ten nearest negatives.'
        drawn[caption] = pictures.separation(name, nearest)
    text = ''
    if not material.test_views:
        text = (
            'Alignment, similarities and separation need two views of each example: a run has '
            'them, a file does with --embeddings_b.'
        )
    return Section('Geometry', text, tuple(measures_of(results, MEANINGS)), drawn)


def of_rows(rows):
    """What the rows alone tell."""
    ideal = uniformity_of_sphere(rows.shape[1])
    return uniformity_interval(rows) | {'uniformity_of_sphere': ideal}
