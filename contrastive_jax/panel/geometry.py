"""Where the embeddings lie on the sphere: closeness of positives, spread, classes, neighbours."""

import jax
import numpy as np

from contrastive_jax.evaluation.alignment import alignment_interval, same_class_alignment
from contrastive_jax.evaluation.hardness import hardness
from contrastive_jax.evaluation.separation import local_separation
from contrastive_jax.evaluation.similarity_histogram import similarity_histogram
from contrastive_jax.evaluation.tolerance import tolerance_interval
from contrastive_jax.evaluation.uniformity import uniformity_interval, uniformity_of_sphere
from contrastive_jax.panel import pictures
from contrastive_jax.panel.section import Section, measures_of

# Between them a contrastive loss goes from the nearest negatives alone to nearly all (Wang 2021).
TEMPERATURES = (0.07, 0.2, 0.5, 1.0)
# Where the loss is not known.
TEMPERATURE = 0.2
# So many anchors, drawn at random, against so many keys.
ANCHORS, KEYS = 500, 2000

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
    'temperature': (
        "of the lines below: that of the run's loss where it is one fixed number of a softmax over "
        'all negatives, else 0.2'
    ),
    'gradient_on_nearest_tenth': 'of a loss of cosines: its share on the nearest 10 % of negatives',
    'effective_negatives': 'exp of the entropy of that gradient: how many negatives share it',
    'negatives': 'how many there were to share it',
}


def section(material, key):
    """Alignment, uniformity, tolerance, local separation and the histogram of similarities."""
    results = {name: of_rows(rows) for name, rows in material.test.items()}
    drawn, shares = {}, {}
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
        if len(a) > 10:
            found, shares[name] = hard_negatives(a, b, key, material.temperature)
            results[name] |= found
            caption = f'{name}: share of the gradient on each tenth of the negatives.'
            picture = pictures.gradient_shares(name, shares[name], material.temperature)
            drawn[caption] = picture
    text = ''
    if not material.test_views:
        text = (
            'Alignment, similarities and separation need two views of each example: a run has '
            'them, a file does with --embeddings_b.'
        )
    details = {
        'share of the gradient by tenth of the negatives, nearest first, by temperature': {
            name: {f'{temperature:g}': share for temperature, share in found.items()}
            for name, found in shares.items()
        }
    }
    measures = tuple(measures_of(results, MEANINGS))
    return Section('Geometry', text, measures, drawn, details=details if shares else {})


def hard_negatives(a, b, key, own):
    """Who receives the gradient of a contrastive loss.

    Args:
      a: [n, d], whose rows are anchors.
      b: [n, d], the other views: the positives, and the negatives of the other rows.
      key: of which rows are taken.
      own: the temperature of the run's loss, or None.

    Returns:
      (measures at that temperature, {temperature: the gradient's share on each tenth [10]}).
    """
    # Drawn, not the first: these would be of one class where a file is in the order of classes.
    rows = np.asarray(jax.random.permutation(key, len(a)))[:KEYS]
    anchors = a[rows[:ANCHORS]]
    temperature = own or TEMPERATURE
    found = {
        t: hardness(anchors, b[rows], np.arange(len(anchors)), temperature=t)
        for t in sorted({*TEMPERATURES, temperature})
    }
    shares = {t: values['gradient_share'] for t, values in found.items()}
    return {
        'temperature': temperature,
        'gradient_on_nearest_tenth': shares[temperature][0],
        'effective_negatives': found[temperature]['effective_negatives'],
        'negatives': len(rows) - 1,
    }, shares


def of_rows(rows):
    """What the rows alone tell."""
    ideal = uniformity_of_sphere(rows.shape[1])
    return uniformity_interval(rows) | {'uniformity_of_sphere': ideal}
