"""JPEG on the host: the crop law, folders and sets with damaged files, batches of crops."""

import io

import numpy as np
import pytest
from PIL import Image

from contrastive_jax.data import batches, sources
from contrastive_jax.data.sources import arrays, encoded, host_crops, splitting
from contrastive_jax.data.sources.crop_batches import crop_batches
from contrastive_jax.errors import BadInput


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('CONTRASTIVE_JAX_CACHE', str(tmp_path / 'cache'))


def jpeg(pixels, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, 'JPEG', quality=95, **options)
    return file.getvalue()


def gradient(height, width):
    """Red rises to the right and green downwards, each from 0 to 255."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width)
    pixels[..., 1] = np.linspace(0, 255, height)[:, None]
    return pixels


@pytest.mark.parametrize(
    ('side', 'area_range', 'quantiles', 'mean'),
    [
        # Fact sheet of chen2021, section 5: area at 5, 25, 50, 75 and 95 %, and its mean.
        (224, (0.08, 1.0), (0.120, 0.218, 0.386, 0.601, 0.822), 0.421),
        (32, (0.08, 1.0), (0.118, 0.219, 0.404, 0.610, 0.844), 0.431),
        (28, (0.5, 1.0), (0.510, 0.561, 0.663, 0.765, 0.895), 0.678),
    ],
)
def test_the_crop_law_is_that_of_tensorflow(side, area_range, quantiles, mean):
    generator = np.random.default_rng(0)
    boxes = np.array(
        [
            host_crops.sample_crop_box(generator, side, side, area_range, (3 / 4, 4 / 3))
            for _ in range(20_000)
        ]
    )
    areas = boxes[:, 2] * boxes[:, 3] / side**2
    # Areas of a small image are few, so a quantile may fall one of them further.
    tolerance = 0.008 if side > 100 else 0.02
    np.testing.assert_allclose(
        np.quantile(areas, [0.05, 0.25, 0.5, 0.75, 0.95]), quantiles, atol=tolerance
    )
    assert abs(areas.mean() - mean) < 0.005
    ends = boxes[:, :2] + boxes[:, 2:]
    assert boxes.min() >= 0
    assert ends.max() == side  # only by crops of the whole side
    assert (ends[boxes[:, 2:] < side] < side).all()


def test_an_image_with_no_box_of_the_shape_is_taken_whole():
    generator = np.random.default_rng(0)
    box = host_crops.sample_crop_box(generator, 4, 400, (0.5, 1.0), (3 / 4, 4 / 3))
    assert box == (0, 0, 4, 400)


def test_crops_lie_where_their_boxes_say():
    data = jpeg(gradient(300, 400))
    crops = host_crops.decode_and_crop(data, np.random.default_rng(3), (32, 32, 3), crops=3)
    assert crops.shape == (3, 32, 32, 3)
    generator = np.random.default_rng(3)
    for crop in crops:
        # Boxes are drawn one after another, all before decoding.
        top, left, height, width = host_crops.sample_crop_box(
            generator, 300, 400, (0.08, 1.0), (3 / 4, 4 / 3)
        )
        middle = crop[15:17, 15:17].mean((0, 1))
        assert abs(middle[0] - 255 * (left + width / 2) / 400) < 4
        assert abs(middle[1] - 255 * (top + height / 2) / 300) < 4


def test_the_aspect_of_a_crop_is_relative_to_that_of_its_shape():
    data = jpeg(gradient(200, 400))
    options = dict(crops=40, area_range=(0.2, 1.0), aspect_range=(1.0, 1.0))
    crops = host_crops.decode_and_crop(data, np.random.default_rng(0), (20, 40, 3), **options)
    assert crops.shape == (40, 20, 40, 3)
    # The aspect of the image itself: a box is the same share of its width and its height. Between
    # the centres of the outer pixels lie 39 of 40 columns and 19 of 20 rows.
    corner, across, down = (crops[:, i, j, :2].astype(float) for i, j in ((0, 0), (0, -1), (-1, 0)))
    spans = (across - corner)[:, 0] * 40 / 39
    np.testing.assert_allclose(spans, (down - corner)[:, 1] * 20 / 19, atol=4)
    assert spans.min() < 160 < 230 < spans.max()


def test_decoding_a_large_jpeg_at_part_of_its_size_changes_little(monkeypatch):
    data = jpeg(gradient(600, 800))
    drafted = host_crops.decode_and_crop(data, np.random.default_rng(0), (24, 24, 3))
    monkeypatch.setattr(Image.Image, 'draft', lambda *_: None)
    monkeypatch.setattr('PIL.JpegImagePlugin.JpegImageFile.draft', lambda *_: None)
    full = host_crops.decode_and_crop(data, np.random.default_rng(0), (24, 24, 3))
    assert np.abs(drafted.astype(int) - full).max() <= 6


def test_a_whole_image_is_stretched_or_its_centre_kept():
    data = jpeg(gradient(100, 200))
    stretched = host_crops.decode(data, (40, 40, 3)).astype(float)
    centre = host_crops.decode(data, (40, 40, 3), 'centre').astype(float)
    ramp = 255 * (np.arange(40) + 0.5) / 40
    np.testing.assert_allclose(stretched[20, :, 0], ramp, atol=4)
    # The central square is 87.5 pixels of 200 wide, from 56.25 on.
    np.testing.assert_allclose(
        centre[20, :, 0], 255 * (56.25 + 87.5 * (np.arange(40) + 0.5) / 40) / 200, atol=4
    )
    grey = host_crops.decode(jpeg(np.full((9, 9), 77, np.uint8)), (5, 5, 1))
    assert grey.shape == (5, 5, 1)
    assert np.abs(grey.astype(int) - 77).max() <= 1


@pytest.fixture
def folder(tmp_path):
    """24 JPEGs of two classes; file i is of colour 10 i; one is corrupt and one cut short."""
    home = tmp_path / 'photos'
    for i in range(24):
        path = home / 'ab'[i % 2] / 'below' / f'{i:02}.jpg'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(np.full((40 + i, 60, 3), 10 * i, np.uint8)))
    corrupt, truncated = home / 'a' / 'below' / '02.jpg', home / 'b' / 'below' / '07.jpg'
    corrupt.write_bytes(b'no image' * 20)
    data = jpeg(np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8))
    truncated.write_bytes(data[: len(data) // 2])
    return home


def test_a_folder_is_split_by_hash_and_damaged_files_are_named(folder):
    with pytest.warns(UserWarning, match='is damaged and skipped') as warned:
        parts = {
            split: sources.open_source('folder:photos,size=8', split, str(folder.parent))
            for split in sources.SPLITS
        }
    messages = ' '.join(str(warning.message) for warning in warned)
    assert 'a/below/02.jpg is damaged' in messages
    assert 'b/below/07.jpg is damaged' in messages
    seen = {
        split: set(np.rint(part.images.mean((1, 2, 3)) / 10).astype(int).tolist())
        for split, part in parts.items()
    }
    names = [f'{"ab"[i % 2]}/below/{i:02}.jpg' for i in range(24)]
    held_out = set(np.flatnonzero(splitting.held_out(names)).tolist())
    assert seen['test'] == held_out - {2, 7}
    assert seen['train'] == set(range(24)) - held_out - {2, 7}
    for part in parts.values():
        assert part.num_classes == 2
        np.testing.assert_array_equal(
            part.labels, np.rint(part.images.mean((1, 2, 3)) / 10).astype(int) % 2
        )


def test_one_in_ten_is_held_out_whatever_else_is_there():
    keys = [f'a/{i}.jpg' for i in range(5000)]
    is_test = splitting.held_out(keys)
    assert 420 < is_test.sum() < 580  # 500 with a deviation of 21
    np.testing.assert_array_equal(splitting.held_out(keys[::7]), is_test[::7])


def test_folders_named_train_and_test_are_the_splits(tmp_path):
    for split, colour in (('train', 40), ('test', 200)):
        for name in 'ab':
            path = tmp_path / split / name / '0.png'
            path.parent.mkdir(parents=True)
            Image.fromarray(np.full((4, 4, 3), colour, np.uint8)).save(path)
    for split, colour in (('train', 40), ('test', 200)):
        part = sources.open_source(f'folder:{tmp_path},size=4', split)
        assert part.labels.tolist() == [0, 1]
        assert (part.images == colour).all()


@pytest.mark.parametrize(
    ('name', 'sentence'),
    [
        ('folder:absent,size=8', 'is not a directory'),
        ('folder:empty,size=8', 'has no image'),
        ('folder:empty,size=8,fit=squash', 'stretch, centre'),
        ('folder:empty', 'size'),
    ],
)
def test_folders_that_cannot_be_read_are_refused(tmp_path, name, sentence):
    (tmp_path / 'empty').mkdir()
    with pytest.raises(BadInput, match=sentence):
        sources.open_source(name, 'train', str(tmp_path))


@pytest.mark.filterwarnings('ignore:photos')
def test_too_many_damaged_files_stop_the_set(folder, monkeypatch):
    monkeypatch.setattr(encoded, 'LEAST_LIMIT', 1)  # both damaged files are of the train part
    with pytest.raises(BadInput, match='more than 1 damaged'):
        sources.open_source(f'folder:{folder},size=8', 'train')


@pytest.fixture
def stream(folder, monkeypatch):
    """The same folder as a set too large for memory."""
    monkeypatch.setattr(arrays, 'SMALL_BYTES', 100)
    return sources.open_source(f'folder:{folder},size=8', 'train')


@pytest.mark.filterwarnings('ignore:photos')
def test_the_row_of_a_damaged_image_holds_the_next_example_whole(stream):
    taken = stream.take(np.arange(len(stream)))
    assert len(stream.damaged.seen) == 2
    colours = np.rint(taken['image'].mean((1, 2, 3)) / 10).astype(int)
    np.testing.assert_array_equal(taken['label'], colours % 2)
    moved = np.flatnonzero(taken['id'] != np.arange(len(stream)))
    assert len(moved) == 2
    np.testing.assert_array_equal(taken['id'][moved], moved + 1)
    one = stream[int(moved[0])]
    assert one['id'] == moved[0] + 1


@pytest.mark.filterwarnings('ignore:photos')
def test_an_evaluation_counts_each_readable_image_once_and_no_damaged_one(stream):
    counted = np.zeros(len(stream))
    for batch in batches.evaluation_batches(stream, batch_size=5):
        np.add.at(counted, batch['id'], batch['weight'])
    damaged = [at for at in range(len(stream)) if stream.read(at)[0] in stream.damaged.seen]
    assert len(damaged) == 2
    np.testing.assert_array_equal(np.flatnonzero(counted == 0), damaged)
    assert counted.sum() == len(stream) - 2
    assert counted.max() == 1


@pytest.mark.filterwarnings('ignore:photos')
@pytest.mark.parametrize('by_class', [False, True])
def test_crops_belong_to_their_ids_and_labels_and_pairs_to_one_class(stream, by_class):
    classes = stream.labels if by_class else None
    batch = crop_batches(stream, seed=7, batch_size=6, classes=classes, area_range=(0.2, 1.0))[4]
    assert set(batch) == {p + n for p in ('', 'partner_') for n in ('image', 'label', 'id')}
    for prefix in ('', 'partner_'):
        assert batch[f'{prefix}image'].shape == (6, 8, 8, 3)
        assert batch[f'{prefix}image'].dtype == np.uint8
        colours = np.rint(batch[f'{prefix}image'].mean((1, 2, 3)) / 10).astype(int)
        np.testing.assert_array_equal(colours % 2, batch[f'{prefix}label'])
        np.testing.assert_array_equal(stream.labels[batch[f'{prefix}id']], batch[f'{prefix}label'])
    np.testing.assert_array_equal(batch['label'], batch['partner_label'])
    assert (batch['id'] == batch['partner_id']).all() != by_class


@pytest.mark.filterwarnings('ignore:encoded')
def test_a_row_that_a_damaged_partner_left_to_itself_is_paired_with_another_crop_of_its_own():
    images = [jpeg(gradient(40, 60)), jpeg(gradient(60, 40))] * 2
    labels = np.array([0, 0, 1, 1])
    source = sources.EncodedSource(
        lambda at: (str(at), images[at] if at != 1 else images[at][:200]), labels, 2, (8, 8, 3)
    )
    order = crop_batches(source, seed=7, batch_size=4, classes=labels, area_range=(0.2, 0.5))
    batch = order[0]
    (alone,) = np.flatnonzero(batch['id'] == 0)  # its only partner is damaged
    assert batch['partner_id'][alone] == 0
    assert (batch['image'][alone] != batch['partner_image'][alone]).any()


@pytest.mark.filterwarnings('ignore:encoded')
@pytest.mark.parametrize('classes', [None, np.arange(13) % 3])
def test_batches_of_crops_do_not_depend_on_the_hosts_or_the_start(classes):
    data = jpeg(gradient(40, 60))
    source = sources.EncodedSource(
        lambda at: (str(at), data if at != 5 else data[:200]), np.arange(13) % 3, 3, (8, 8, 3)
    )
    options = dict(seed=7, batch_size=6, classes=classes)
    whole = crop_batches(source, **options)
    batch = whole[4]
    for host in range(2):
        part = crop_batches(source, host=host, num_hosts=2, **options)[4]
        for name in batch:
            np.testing.assert_array_equal(part[name], batch[name][host * 3 : host * 3 + 3])
    resumed = next(batches.iterate({'': whole}, 4))
    for name in batch:
        np.testing.assert_array_equal(resumed[name], batch[name])
    order = batches.train_batches(source, seed=7, batch_size=6)
    np.testing.assert_array_equal(order[4]['id'], batch['id'])
    assert not np.array_equal(whole[5]['image'], batch['image'])


def test_the_two_sides_of_a_pair_are_different_crops_of_one_image():
    data = jpeg(gradient(64, 64))
    read_count = []

    def read(at):
        read_count.append(at)
        return str(at), data

    source = sources.EncodedSource(read, np.zeros(8, np.int32), 1, (16, 16, 3))
    batch = crop_batches(source, seed=0, batch_size=8)[0]
    assert sorted(read_count) == list(range(8))  # one decode of each
    np.testing.assert_array_equal(batch['id'], batch['partner_id'])
    differ = (batch['image'] != batch['partner_image']).any((1, 2, 3))
    assert differ.all()
    classes = np.zeros(8, int)
    pairs = crop_batches(source, seed=0, batch_size=8, classes=classes)[0]
    assert not np.any(pairs['id'] == pairs['partner_id'])
    assert (pairs['image'] != pairs['partner_image']).any((1, 2, 3)).all()


@pytest.mark.filterwarnings('ignore:photos')
@pytest.mark.parametrize('make', [batches.train_batches, crop_batches])
def test_a_damaged_image_makes_no_pair_of_two_classes(stream, make):
    classes = np.arange(len(stream)) % 2  # the example in the place of another is its neighbour
    order = make(stream, seed=0, batch_size=len(stream), classes=classes)
    own_partners = 0
    for k in range(12):
        batch = order[k]
        np.testing.assert_array_equal(classes[batch['id']], classes[batch['partner_id']])
        alone = batch['id'] == batch['partner_id']
        np.testing.assert_array_equal(batch['image'][alone], batch['partner_image'][alone])
        own_partners += alone.sum()
    # Two damaged examples a batch, each as an example and mostly as a partner too.
    assert 0 < own_partners <= 12 * 6


def test_the_crops_of_an_example_differ_and_change_with_its_seed(tmp_path):
    data = jpeg(gradient(64, 64))
    source = sources.EncodedSource(
        lambda at: (str(at), data), np.zeros(4, np.int32), 1, (16, 16, 3)
    )
    crops = source.crops(np.array([0, 0, 1]), np.array([5, 6, 5]))['image']
    assert (crops[0, 0] != crops[0, 1]).any()
    assert (crops[0] != crops[1]).any()
    np.testing.assert_array_equal(crops[0], crops[2])  # the same file with the same seed


@pytest.mark.filterwarnings('ignore:encoded')
def test_a_set_without_one_readable_image_is_one_sentence():
    source = sources.EncodedSource(lambda at: (str(at), b'x'), np.zeros(3, np.int32), 1, (8, 8, 3))
    with pytest.raises(BadInput, match='no image that can be decoded'):
        source.take(np.array([0]))
