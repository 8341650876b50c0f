"""The page of the gallery: which pictures there are, and what to see in each."""

# Name of the picture: title, what to see.
PICTURES = {
    'multidigits': (
        'MultiDigits',
        'Each digit and its place is a factor. Placed at random, more digits overlap more; in a '
        'grid no two share a cell. Compare Figure 2 of chen2021.',
    ),
    'multidigits_sizes': (
        'MultiDigits, digits of two sizes',
        'The data of Table 4 of chen2021: the large digit competes with the small one.',
    ),
    'digit_on_image': (
        'DigitOnImageNet',
        'Nine copies of one digit of 16 on a natural image: the easy digit competes with the class '
        'of the image. The places are those of the notebook. Compare Figure 5 of chen2021.',
    ),
    'randbit': (
        'RandBit, 6 bits',
        'Two crops of each digit. Below them, bit by bit, the code that both views share: constant '
        'channels that no augmentation touches. Compare Figure 5 of chen2021.',
    ),
    'k_bit_images': (
        'k-bit images, 5 bits',
        'Nothing but the code: the network sees one black channel and a constant one for each bit. '
        'Right, the floor of the loss of an encoder that knows the bits.',
    ),
    'cdp': (
        'CDP',
        'Colour, digit and position; the rows are the two sides of a pair, which share all three '
        'and differ in the background. Compare Figure 2 of lee2023.',
    ),
    'content_style': (
        'Content and style',
        'Content stays (on the sphere up to one factor, which brings the norm back to 1) and style '
        'moves. An encoder sees neither, but what a random invertible network g makes of them.',
    ),
    'spirals': (
        'Two spirals',
        'The noise of the views has one sign, so that it shifts the points too.',
    ),
    'gaussian_pair': (
        'Gaussian pair',
        'What the two sides see of each pair; the mutual information is known. Left the pair of '
        'wu2020.',
    ),
    'views': (
        'Views',
        'Every named view of `contrastive_jax.views` with its default options, six draws of one '
        'photograph; a column has the same key in every row, so that `luminance` and `colour` show '
        'one crop. `luminance` is the lightness L, `colour` the a and b of Lab at one lightness. '
        'The blur of `simclr_imagenet` darkens the border, as in the official code.',
    ),
}


def drawings():
    """Name of the picture to (digits, natural images) -> figure."""
    from experiments import gallery_images, gallery_vectors

    found = {**vars(gallery_images), **vars(gallery_vectors), 'views': gallery_images.all_views}
    return {name: found[name] for name in PICTURES}


def write(output, names, hosts, data_dir=''):
    """Draws the pictures of these names into the directory `output`, and writes the page."""
    from contrastive_jax.data import sources

    digits = sources.open_source('digits', 'train')
    natural = sources.open_source(hosts, 'train', data_dir)
    output.mkdir(parents=True, exist_ok=True)
    for name, draw in drawings().items():
        if name in names:
            figure = draw(digits, natural)
            figure.savefig(output / f'{name}.png', dpi=90, bbox_inches='tight', pad_inches=0.05)
            print(output / f'{name}.png', flush=True)
    page = [
        '# Gallery\n\nThe probing datasets of `contrastive_jax.data.probing`, before any '
        'augmentation unless said otherwise, and the views. Made by '
        '`python -m experiments.gallery --output=docs`.\n'
    ]
    for name, (title, text) in PICTURES.items():
        page.append(f'## {title}\n\n{text}\n\n![{title}]({name}.png)\n')
    (output / 'gallery.md').write_text('\n'.join(page), encoding='utf-8')
