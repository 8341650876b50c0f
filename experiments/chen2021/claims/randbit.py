"""Claims of Chen 2021 on random bits: Sec. 4.3, Fig. 7, App. B.1, and the RandBit notebook."""

from configs.chen2021.randbit_losses_laptop import METHODS as NAMED
from configs.chen2021.randbit_notebook import BITS, REFERENCE
from configs.chen2021.randbit_vae_laptop import METHODS
from contrastive_jax.evaluation.claims import Claim, spearman, value

DIGITS = 'configs/chen2021/randbit_digits.py'
LOSSES = 'configs/chen2021/randbit_losses_laptop.py'
NOTEBOOK = 'configs/chen2021/randbit_notebook.py'
AUTOENCODER = 'configs/chen2021/randbit_vae_laptop.py'
TEMPERATURES = 'configs/chen2021/randbit_temperatures_laptop.py'
CIFAR10 = 'configs/chen2021/randbit_cifar10_laptop.py'
FULL = 'configs/chen2021/randbit_cifar10.py'
CHANCE = 0.1  # of ten classes
# The paper's number is that of the online classifier, which its notebook prints.
PROBE = 'linear probe (the notebook: its online classifier) at temperature 0.05 minus at 0.2'
LEARNED = 0.5  # the least accuracy without bits of a method that bits may be said to suppress


def spearman_of_bits(rows):
    """Spearman's correlation of the number of bits with the probe's accuracy."""
    return spearman([row['data.num_bits'] for row in rows], [row['test_accuracy'] for row in rows])


def best_above_chance(rows):
    """The accuracy of the best method at the most bits, minus chance; all must learn without.

    The methods are those that the claim names: other temperatures and weights are claim 5's.
    """
    losses = {method['loss'] for method in NAMED.values()}
    rows = [row for row in rows if row['loss'] in losses]
    check_learned([row['test_accuracy'] for row in rows if row['data.num_bits'] == 0])
    most = max(row['data.num_bits'] for row in rows)
    return max(row['test_accuracy'] for row in rows if row['data.num_bits'] == most) - CHANCE


def small_minus_large_temperature(rows, bits):
    """The linear probe at NT-Xent's temperature 0.05 minus at 0.2.

    Args:
      rows: of one seed; the temperature is a field of theirs, or stands in the loss as text.
      bits: the number of bits of the rows that count.
    """

    def at(temperature):
        if 'loss.temperature' in rows[0]:
            return {'loss.temperature': temperature, 'data.num_bits': bits}
        return {'loss': f'nt_xent,temperature={temperature}', 'data.num_bits': bits}

    # A sweep with further batch sizes has them of temperature 0.2 alone.
    batch = {row.get('batch_size') for row in rows if at(0.05).items() <= row.items()}
    alike = [row for row in rows if row.get('batch_size') in batch]
    small, large = (value(alike, 'test_accuracy', at(temperature)) for temperature in (0.05, 0.2))
    return small - large


def notebook_cell(rows, temperature, bits):
    """The accuracy that the notebook prints for a temperature and a number of bits."""
    where = {'loss.temperature': temperature, 'data.num_bits': bits}
    return value(rows, 'online_accuracy', where)


def drop(rows, method):
    """The accuracy of a method without bits minus at 10 bits; it must read digits without."""
    without, with_bits = (
        value(rows, 'test_accuracy', {**METHODS[method], 'data.num_bits': bits}) for bits in (0, 10)
    )
    check_learned([without])
    return without - with_bits


def check_learned(accuracies):
    """ValueError where a method does not read digits even without bits: then bits say nothing."""
    if min(accuracies) < LEARNED:
        raise ValueError(
            f'a method reads {min(accuracies):.3f} without bits, below {LEARNED}: it learned '
            'nothing that bits could suppress.'
        )


def excess_of_the_generative_drop(rows, other='NT-Xent', share=1 / 4):
    """The autoencoder's drop minus a share of another's."""
    return drop(rows, 'variational autoencoder') - share * drop(rows, other)


CLAIMS = [
    Claim(
        id='4a',
        claim='The more random bits the two views share, the worse a linear probe reads the image.',
        source='Sec. 4.3, Fig. 7',
        config=DIGITS,
        statistic="Spearman's correlation of the number of bits with the probe's accuracy",
        of_seed=spearman_of_bits,
        threshold=0.0,
        direction='below',
        paper_value=-1.0,  # the notebook's row at temperature 0.2
    ),
    Claim(
        id='4b',
        claim='No contrastive loss, batch size, memory of momentum contrast, nor BYOL avoids it: '
        'with 15 bits the image is ignored.',
        source='Sec. 4.3, Fig. 7, App. B.1',
        config=LOSSES,
        statistic='accuracy of the best of all methods at 15 bits, minus chance (0.1)',
        of_seed=best_above_chance,
        threshold=0.10,
        direction='below',
        full_config=FULL,
    ),
    Claim(
        id='5a',
        claim='A small temperature mitigates suppression: at 5 bits a probe reads more at '
        'temperature 0.05 than at 0.2.',
        source='Sec. 4.3, Fig. 7, App. B.1',
        config=NOTEBOOK,
        statistic=f'{PROBE}, 5 bits',
        of_seed=lambda rows: small_minus_large_temperature(rows, 5),
        threshold=0.0,
        direction='above',
        paper_value=0.3764,
    ),
    Claim(
        id='5b',
        claim='But without bits a small temperature is worse.',
        source='App. B.1, Fig. B.1',
        config=CIFAR10,
        statistic='linear probe at temperature 0.05 minus at 0.2, 0 bits, CIFAR-10',
        of_seed=lambda rows: small_minus_large_temperature(rows, 0),
        threshold=0.0,
        direction='below',
        scale_needed=f'{FULL}: a ResNet-18, 400 epochs. Here the lead of the small one is less '
        'than the standard error of one accuracy.',
        full_config=FULL,
    ),
    Claim(
        id='5c',
        claim='A small temperature mitigates suppression on the way to 8 bits too.',
        source='App. B.1, Fig. B.1',
        config=TEMPERATURES,
        statistic='linear probe at temperature 0.05 minus at 0.2, 6 bits',
        of_seed=lambda rows: small_minus_large_temperature(rows, 6),
        threshold=0.0,
        direction='above',
    ),
    Claim(
        id='5d',
        claim='On CIFAR-10 too a small temperature mitigates suppression, at 5 bits.',
        source='App. B.1, Fig. B.1',
        config=CIFAR10,
        statistic='linear probe at temperature 0.05 minus at 0.2, 5 bits, CIFAR-10',
        of_seed=lambda rows: small_minus_large_temperature(rows, 5),
        threshold=0.0,
        direction='above',
        scale_needed=f'{FULL}: a ResNet-18, 400 epochs.',
        full_config=FULL,
    ),
    Claim(
        id='6a',
        claim='Random bits hardly touch a generative model: from 0 to 10 bits a variational '
        'autoencoder with the same encoder loses less than a quarter of what NT-Xent loses.',
        source='Sec. 4.3, Fig. 7',
        config=AUTOENCODER,
        statistic="the autoencoder's drop in accuracy from 0 to 10 bits minus a quarter of "
        "NT-Xent's",
        of_seed=excess_of_the_generative_drop,
        threshold=0.0,
        direction='below',
        scale_needed="Not known: the paper leaves its autoencoder's decoder, likelihood and length "
        'open.',
    ),
    Claim(
        id='6b',
        claim='The autoencoder loses less than its own network before training does.',
        source='Sec. 4.3, Fig. 7',
        config=AUTOENCODER,
        statistic="the autoencoder's drop in accuracy from 0 to 10 bits minus that of the network "
        'before training, with batch statistics of the images',
        of_seed=lambda rows: excess_of_the_generative_drop(
            rows, 'autoencoder before training', 1.0
        ),
        threshold=0.0,
        direction='below',
        scale_needed='Not known, as of 6a.',
        ours=True,
    ),
]

# What the notebook prints and is not chance, one by one.
PRINTED = [
    (temperature, bits, accuracy)
    for temperature, accuracies in REFERENCE.items()
    for bits, accuracy in zip(BITS[:3], accuracies[:3], strict=True)
    if accuracy > 0.15
]
CLAIMS += [
    Claim(
        id=f'4{letter}',
        claim=f"Our port gives the notebook's {accuracy} at temperature {temperature} and {bits} "
        'bits.',
        source='RandBit notebook',
        config=NOTEBOOK,
        statistic='our accuracy of the online classifier minus the one printed',
        of_seed=lambda rows, cell=(temperature, bits), printed=accuracy: (
            notebook_cell(rows, *cell) - printed
        ),
        threshold=(-0.03, 0.03),
        direction='within',
        paper_value=0.0,
        scale_needed='More seeds of ours, and of the notebook, which prints one run.',
        ours=True,
    )
    for letter, (temperature, bits, accuracy) in zip('cdefghij', PRINTED, strict=True)
]
