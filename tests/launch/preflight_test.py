"""The preflight's arithmetic: operations of a jaxpr, collectives of a program, what fits."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec
from ml_collections import ConfigDict

from configs.chen2021 import randbit_digits
from contrastive_jax import sharding
from contrastive_jax.errors import BadInput
from launch import chips, fitting, hlo, report, stand_in
from launch.flops import Flops, flops_of

ROOT = Path(__file__).parents[2]
HAS_COMPILER = importlib.util.find_spec('libtpu') is not None


def flops(function, *shapes):
    return flops_of(jax.make_jaxpr(function)(*(jnp.zeros(shape) for shape in shapes)))


def test_a_product_is_two_operations_for_each_row_column_and_term():
    assert flops(jnp.matmul, (3, 5), (5, 7)).products == 2 * 3 * 5 * 7
    batched = flops(lambda a, b: jnp.einsum('nij,njk->nik', a, b), (2, 3, 5), (2, 5, 7))
    assert batched.products == 2 * 2 * 3 * 5 * 7


def test_the_gradient_of_a_product_in_both_arguments_is_two_more():
    both = jax.grad(lambda a, b: (a @ b).sum(), argnums=(0, 1))
    # The value itself is not needed for the gradient of a sum.
    assert flops(both, (3, 5), (5, 7)).products in (2 * 2 * 3 * 5 * 7, 3 * 2 * 3 * 5 * 7)


def test_a_scan_counts_its_body_as_often_as_it_runs():
    def steps(a, b):
        return lax.scan(lambda carry, _: (carry @ b, None), a, None, length=11)[0]

    assert flops(steps, (3, 5), (5, 5)).products == 11 * 2 * 3 * 5 * 5
    nested = lambda a, b: lax.fori_loop(0, 4, lambda _, c: steps(c, b), a)  # noqa: E731
    assert flops(nested, (3, 5), (5, 5)).products == 4 * 11 * 2 * 3 * 5 * 5


def test_a_loop_of_unknown_length_counts_as_one_turn_and_is_reported():
    def until_large(a, b):
        return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c @ b, a)

    counted = flops(until_large, (3, 5), (5, 5))
    assert (counted.products, counted.unknown_loops) == (2 * 3 * 5 * 5, 1)
    idle = flops(lambda a: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c + 1.0, a), (3,))
    assert idle == Flops(0, 0, 0)


def test_a_choice_counts_as_its_largest_branch():
    def either(a, b):
        return lax.cond(a.sum() > 0, lambda: a @ b @ b, lambda: a @ b)

    assert flops(either, (3, 5), (5, 5)).products == 2 * 2 * 3 * 5 * 5


def test_programs_inside_a_program_are_counted():
    inner = jax.checkpoint(jax.jit(jnp.matmul))
    assert flops(jax.vmap(inner), (4, 3, 5), (4, 5, 7)).products == 4 * 2 * 3 * 5 * 7


def test_the_share_of_a_device_counts_once_a_device():
    mesh = sharding.data_mesh()
    split = PartitionSpec(sharding.AXIS)

    def share(a, b):
        local = jax.shard_map(
            jnp.matmul, mesh=mesh, in_specs=(split, PartitionSpec()), out_specs=split
        )
        return local(a, b)

    assert flops(share, (8, 5), (5, 7)).products == 2 * 8 * 5 * 7


def convolve(images, kernel, stride=1, padding='SAME', dilation=1, groups=1):
    return lax.conv_general_dilated(
        images, kernel, (stride, stride), padding, dimension_numbers=('NHWC', 'HWIO', 'NHWC'),
        rhs_dilation=(dilation, dilation), feature_group_count=groups,
    )  # fmt: skip


def test_a_convolution_without_padding_has_the_closed_form():
    counted = flops(lambda x, k: convolve(x, k, 2, 'VALID'), (2, 9, 11, 3), (3, 3, 3, 4))
    assert counted.products == 2 * 2 * 4 * 5 * 3 * 3 * 3 * 4


def test_a_grouped_convolution_has_the_closed_form():
    counted = flops(lambda x, k: convolve(x, k, 1, 'VALID', groups=2), (2, 6, 6, 4), (3, 3, 2, 8))
    assert counted.products == 2 * 2 * 4 * 4 * 8 * 3 * 3 * 2


@pytest.mark.parametrize(('stride', 'dilation'), [(1, 1), (2, 1), (1, 2)])
def test_padding_counts_for_nothing(stride, dilation):
    side, kernel = 6, 3
    counted = flops(
        lambda x, k: convolve(x, k, stride, 'SAME', dilation), (1, side, side, 1), (3, 3, 1, 1)
    )
    # An input of ones and a kernel of ones: each output is the number of products behind it.
    ones = convolve(
        jnp.ones((1, side, side, 1)), jnp.ones((kernel, kernel, 1, 1)), stride, 'SAME', dilation
    )
    assert counted.products == 2 * float(ones.sum())


@pytest.mark.parametrize('stride', [1, 2])
def test_both_gradients_of_a_convolution_cost_as_much_as_the_convolution(stride):
    forward = lambda x, k: convolve(x, k, stride)  # noqa: E731
    shapes = (2, 8, 8, 3), (3, 3, 3, 4)
    once = flops(forward, *shapes).products
    all_three = jax.value_and_grad(lambda x, k: (forward(x, k) ** 2).sum(), argnums=(0, 1))
    assert flops(all_three, *shapes).products == 3 * once


@pytest.mark.parametrize(
    ('dtype', 'precision', 'passes'),
    [('float32', None, 1), ('float32', 'high', 3), ('float32', 'highest', 6),
     ('bfloat16', 'highest', 1)],
)  # fmt: skip
def test_precise_products_take_several_passes(dtype, precision, passes):
    rows = jnp.zeros((3, 5), dtype)
    jaxpr = jax.make_jaxpr(lambda a: jnp.matmul(a, a.T, precision=precision))(rows)
    assert flops_of(jaxpr) == Flops(2 * 3 * 5 * 3, passes * 2 * 3 * 5 * 3, 0)


# Forms of the text that TPU programs have, cut down to what the reader looks at.
TEXT = """
HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}

%wrapped (p: f32[4,2]) -> f32[4,2] {
  ROOT %exchanged = f32[4,2]{1,0:T(8,128)} all-to-all(%p), replica_groups=[2,8]<=[16]
}

%fused (p: f32[6]) -> f32[6] {
  ROOT %all-reduce.9 = f32[6]{0} all-reduce(%p), replica_groups={{0,1,2},{3,4,5}}, to_apply=%add
}

%body (s: (s32[], f32[16])) -> (s32[], f32[16]) {
  %all-gather.1 = f32[16]{0} all-gather(%x), dimensions={0}, replica_groups={}
  ROOT %out = (s32[], f32[16]) tuple(%i, %all-gather.1)
}

%condition (s: (s32[], f32[16])) -> pred[] {
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %r = (f32[256]{0:T(256)S(1)}, /*index=1*/bf16[2,3]{1,0:T(8,128)(2,1)}) all-reduce(%a, %b), \
replica_groups=mesh['axis_0'=4,'axis_1'=2,'axis_2'=3] {'axis_0','axis_1'}, to_apply=%add, \
metadata={op_name="jit(f)/bn1/reduce_sum" stack_frame_id=1}
  %g = (f32[2,4]{1,0}, f32[8,4]{1,0}) all-gather-start(%c), replica_groups={{0,1,2,3}}
  %h = f32[8,4]{1,0} all-gather-done(%g)
  %s = f32[2]{0} reduce-scatter(%d), replica_groups=[1,4]<=[4], to_apply=%add
  %p1 = (u8[3]{0}, u8[3]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(%e), \
source_target_pairs={{0,1},{1,0}}
  %p2 = u8[3]{0} collective-permute-done(%p1)
  %t = ((f32[4,2]), f32[4,2], s32[]) async-start(%k), calls=%wrapped
  %u = f32[4,2] async-done(%t)
  %f = f32[6]{0} fusion(%m), kind=kCustom, calls=%fused
  %w = (s32[], f32[16]) while(%init), condition=%condition, body=%body
  ROOT %z = f32[8]{0} copy(%p)
}
"""


def test_collectives_are_read_from_every_form_of_text():
    found = {
        (each.kind, each.size, each.devices, each.in_loop) for each in hlo.collectives_in(TEXT)
    }
    assert found == {
        ('all-reduce', 256 * 4 + 6 * 2, 8, False),
        ('all-gather', 8 * 4 * 4, 4, False),
        ('reduce-scatter', 4 * 2 * 4, 4, False),
        ('collective-permute', 3, 0, False),
        ('all-to-all', 4 * 2 * 4, 8, False),
        ('all-reduce', 6 * 4, 3, False),
        ('all-gather', 16 * 4, 0, True),
    }
    assert len(hlo.collectives_in(TEXT)) == len(found)
    assert 'jit(f)/bn1/reduce_sum' in {each.name for each in hlo.collectives_in(TEXT)}


def test_a_collective_that_is_spread_over_fusions_counts_once():
    gather = (
        '  %g.{0} = f32[8,4] all-gather(%p), channel_id={1}, replica_groups={{{{0,1}}}}, '
        'dimensions={{0}}, frontend_attributes={{{2}}}'
    )
    spread = 'chain_id="0"'
    text = '\n'.join(
        f'%fused.{number} (p: f32[4,4]) -> f32[8,4] {{\n{gather.format(number, channel, made)}\n}}'
        for number, (channel, made) in enumerate(
            [(7, spread), (7, spread), (8, spread), (9, ''), (9, '')]
        )
    )
    calls = '\n'.join(f'  %f.{number} = fusion(%p), calls=%fused.{number}' for number in range(5))
    found = hlo.collectives_in(f'{text}\n\nENTRY %main (p: f32[4,4]) -> f32[8,4] {{\n{calls}\n}}')
    # One of channel 7, one of channel 8, and two that are whole.
    assert [each.size for each in found] == [8 * 4 * 4] * 4


@pytest.mark.parametrize(
    ('kind', 'sent'),
    [('all-reduce', 2 * 3 / 4), ('all-gather', 3 / 4), ('reduce-scatter', 3 / 4),
     ('all-to-all', 3 / 4), ('collective-permute', 1)],
)  # fmt: skip
def test_what_a_device_of_four_must_send_of_each_byte(kind, sent):
    assert hlo.Collective(kind, 1000, 0, False, '').sent(4) == 1000 * sent
    assert hlo.Collective(kind, 1000, 4, False, '').sent(99) == 1000 * sent


def test_collectives_of_a_program_on_four_devices():
    mesh = sharding.data_mesh()
    split, whole = PartitionSpec(sharding.AXIS), PartitionSpec()

    def turn(carry, _):
        return lax.psum(carry, sharding.AXIS), None

    def local(rows):
        everyone = lax.all_gather(rows, sharding.AXIS, tiled=True)
        exchanged = lax.all_to_all(rows, sharding.AXIS, 1, 0, tiled=True)
        repeated, _ = lax.scan(turn, rows.sum(0), None, length=3)
        total = lax.psum(exchanged.sum(), sharding.AXIS)
        return total + everyone.sum() + repeated.sum()

    spread = jax.jit(
        jax.shard_map(local, mesh=mesh, in_specs=split, out_specs=whole, check_vma=False)
    )
    program = spread.lower(jnp.zeros((8, 12))).compile()
    found = {(c.kind, c.in_loop, c.devices or 4): c for c in hlo.collectives_in(program.as_text())}
    assert found['all-gather', False, 4].size == 8 * 12 * 4
    assert found['all-to-all', False, 4].size == 2 * 12 * 4
    assert found['all-reduce', True, 4].size == 12 * 4
    assert found['all-reduce', False, 4].size == 4


def test_traffic_is_operands_and_results_off_the_chip():
    text = """
%body (s: f32[]) -> f32[] {
  %q = f32[10]{0} parameter(0)
  ROOT %r = f32[10]{0} add(%q, %q)
}

ENTRY %main (p: f32[100]) -> f32[100] {
  %p = f32[100]{0} parameter(0)
  %c = f32[100]{0:T(128)S(1)} fusion(%p), kind=kLoop, calls=%other
  %d = (f32[100]{0}, f32[100]{0:S(1)}, u32[]{:S(2)}) copy-start(%c)
  %e = f32[100]{0} copy-done(%d)
  %l = ((f32[100]{0}), f32[25]{0:S(1)}, s32[]) slice-start(%e), slice={[0:25]}
  %w = f32[10]{0} while(%x), condition=%c2, body=%body
  ROOT %f = f32[100]{0} negate(%e)
}
"""
    fusion, copy, cut, loop, negate = 400, 400, 100, 3 * 40, 800
    assert hlo.memory_traffic(text) == fusion + copy + cut + loop + negate


def compiled(needed, available, batch_size, topology='v5e:4x4', **changes):
    place = chips.slice_of(topology)
    fields = dict(
        place=place, batch_size=batch_size, num_steps=100, flops=Flops(197e12, 2 * 197e12, 0),
        image_bytes=1000, examples=1600, needed=needed, available=available, memory={},
        collectives=None, traffic=None, seconds=1.0, processor_seconds=2.0,
    )  # fmt: skip
    return fitting.Compiled(**{**fields, **changes})


@pytest.mark.parametrize(('fixed', 'each'), [(100, 10), (0, 3), (900, 1)])
def test_the_largest_batch_is_found_where_memory_is_linear(fixed, each):
    place, tried = chips.slice_of('v5e:4x4'), []

    def compile_at(batch_size):
        tried.append(batch_size)
        return compiled(fixed + each * batch_size, 10_000, batch_size)

    config = ConfigDict({'optimizer': {}})
    too_large = compile_at(16 * 4096)
    found = fitting.largest_batch(config, place, too_large, compile_at)
    assert found in tried
    largest = (10_000 - fixed) // each // 16 * 16
    assert largest - max(16, largest // 8) <= found <= largest
    # Halves until one fits, the estimate, and one beyond it.
    assert len(tried) <= 2 + np.log2(16 * 4096 / found) + 2


def test_the_search_goes_on_where_more_fits_than_the_line_says():
    def compile_at(batch_size):  # up to 900 the compiler finds a way
        return compiled(batch_size if batch_size > 900 else min(batch_size, 600), 600, batch_size)

    config, place = ConfigDict({'optimizer': {}}), chips.slice_of('v5e:4x4')
    found = fitting.largest_batch(config, place, compile_at(1600), compile_at)
    assert 800 <= found <= 900


def test_no_batch_fits_where_the_parameters_alone_do_not():
    config = ConfigDict({'optimizer': {'accumulate': 2}})
    place = chips.slice_of('v5e:2x2')
    compile_at = lambda batch_size: compiled(500 + batch_size, 400, batch_size)  # noqa: E731
    assert fitting.largest_batch(config, place, compile_at(64), compile_at) == 0


def test_an_estimate_that_does_not_fit_after_all_gives_way_to_what_did():
    def compile_at(batch_size):
        return compiled(batch_size if batch_size <= 512 else 2000, 1000, batch_size)

    place = chips.slice_of('v5e:4x4')
    assert (
        fitting.largest_batch(ConfigDict({'optimizer': {}}), place, compile_at(1024), compile_at)
        == 512
    )


def test_what_the_compiler_says_of_a_program_that_is_too_large():
    said = 'Ran out of memory in memory space hbm. Used 19.50G of 15.75G hbm. Exceeded by 3.75G.'
    assert fitting.memory_in(said, 7) == (19.5 * 2**30, 15.75 * 2**30)
    said = 'the total memory required for HLO temporaries (47.50G) exceeds available HBM (512.00M).'
    assert fitting.memory_in(said, 7) == (47.5 * 2**30 + 7, 2**29)
    with pytest.raises(RuntimeError, match='something else'):
        fitting.memory_in('something else', 7)


def test_a_device_has_its_share_of_what_is_split():
    whole = {'a': jax.ShapeDtypeStruct((3, 5), 'float32')}
    assert fitting.argument_bytes(whole, [jax.ShapeDtypeStruct((8, 10), 'uint8')], 4) == 60 + 20


def test_floors_are_work_over_published_peaks():
    sends = [hlo.Collective('all-gather', 16 * 10**9, 16, False, '')]
    result = compiled(1, 2, 160, collectives=sends, traffic=819 * 10**9)
    floors = report.floors_of(result)
    # Two passes of 197 TFLOP over 16 chips; 819 GB; 15 of 16 parts of 16 GB at 200 GB/s.
    expected = {'arithmetic': 2 / 16, 'HBM': 1.0, 'links': 15 / 200}
    assert floors == pytest.approx(expected)
    column = report.column_of(result)
    assert column['step, at least'] == '1e+03 ms'
    assert column['images (two views each) a second, at most'] == '160'
    assert column['then each worker reads'] == '40 images/s, 0 MB/s decoded'
    assert column['steps, epochs'] == '100, 10'
    assert column['all-gather'] == f'1, {16 * 10**9 / 2**20:.3g} MiB'
    assert column['all-reduce'] == column['collectives in loops'] == 'none'
    looped = compiled(1, 2, 160, collectives=[sends[0]._replace(in_loop=True)], traffic=1)
    assert report.column_of(looped)['collectives in loops'] == '1'


def test_two_devices_share_the_memory_and_bandwidth_of_their_chip():
    result = compiled(2**30, 16 * 2**30, 160, 'v3:2x2', collectives=[], traffic=9 * 10**9)
    assert report.floors_of(result)['HBM'] == pytest.approx(0.02)
    column = report.column_of(result)
    assert column['HBM a device'] == '1.00 of 16 GiB'
    assert column['HBM a chip'] == '2.00 of 32 GiB'


def test_a_table_has_a_column_a_topology_and_says_what_does_not_fit():
    fits, large = compiled(1, 2, 160), compiled(3, 2, 160, 'v5e:2x2')
    lines = report.table([fits, large], {'v5e:2x2': 96}).splitlines()
    assert lines[0] == '|  | v5e:4x4 | v5e:2x2 |'
    assert '| fits | yes | no; 96 does |' in lines
    assert '--config.batch_size=96' in report.too_large_sentence('v5e:2x2', 160, 96)
    assert 'nor does one example' in report.too_large_sentence('v5e:2x2', 160, 0)


@pytest.mark.parametrize(
    ('topology', 'counts'),
    [('v5e:1x1', (1, 1, 1)), ('v5e:2x4', (8, 8, 1)), ('v5e:16x16', (256, 256, 64)),
     ('v3:4x4', (16, 32, 4)), ('v4:4x4x8', (128, 128, 32)), ('v6e:2x2', (4, 4, 1))],
)  # fmt: skip
def test_slices(topology, counts):
    place = chips.slice_of(topology)
    assert (place.chips, place.devices, place.workers) == counts


@pytest.mark.parametrize(
    ('topology', 'sentence'),
    [
        ('v5e:3x3', "'v5e:3x3'; the slices of v5e are: v5e:1x1, v5e:2x2"),
        ('v5e', 'the slices of v5e are'),
        ('v5e:32x32', 'the slices of v5e are'),
        ('v5:4x4', r"a chip \(v2, v3, v4, v5e, v5p, v6e\).*Did you mean 'v5"),
        ('v4:4x4x5', 'multiples of 4, such as v4:4x4x8, up to 4096 chips'),
        ('v5p:64x64x64', 'up to 6144 chips'),
        ('', 'a topology is a chip'),
    ],
)
def test_a_topology_that_does_not_exist_names_those_that_do(topology, sentence):
    with pytest.raises(BadInput, match=sentence):
        chips.slice_of(topology)


def test_a_stand_in_has_the_shapes_and_needs_no_data():
    large = stand_in.open_source('tfds:imagenet2012,size=224,fit=centre', 'train', '/nowhere')
    assert (len(large), large.num_classes, large.image_shape) == (1_281_167, 1000, (224, 224, 3))
    hundred = stand_in.open_source('tfds:imagenet2012,size=64,classes=imagenet100', 'test')
    assert (len(hundred), hundred.num_classes) == (5_000, 100)
    half = stand_in.open_source('tfds:cifar10,classes=(0,1,2,3,4)', 'train')
    assert (len(half), half.num_classes, half.image_shape) == (25_000, 5, (32, 32, 3))
    with pytest.raises(BadInput, match='size'):
        stand_in.open_source('tfds:imagenet2012', 'train')
    with pytest.raises(BadInput, match='not prepared'):
        stand_in.open_source('tfds:no_such_set', 'train')


def test_another_source_is_opened_as_ever():
    source = stand_in.open_source('noise:5,size=4', 'train')
    assert np.unique(source.images).size > 1


def test_a_step_compiles_without_the_data_and_passes_on_no_bank(monkeypatch):
    """Of rows of 8: a bank lies on every device, and what crosses are those of the batch."""
    monkeypatch.setattr(fitting.compiler, 'mesh_of', lambda place: sharding.data_mesh())
    config = randbit_digits.get_config('smoke')
    config.data.source = 'tfds:mnist'
    config.loss = dict(name='contrastive', temperature=0.2)
    config.model.head_widths = (8, 8)
    result = fitting.compile_step(config, chips.slice_of('v5e:2x2'))
    assert result.examples == 60_000
    bank = 60_000 * 8 * 4
    assert bank < result.memory['arguments'] < 2 * bank
    assert result.fits == (result.needed <= 16 * 2**30)
    sizes = [each.size for each in result.collectives if each.kind != 'all-reduce']
    assert max(sizes) <= 4 * 16 * 8 * 4


def preflight(*flags):
    environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
    return subprocess.run(
        [sys.executable, '-m', 'launch.preflight', *flags],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


SMOKE = '--config=configs/chen2021/randbit_digits.py:smoke'


def test_a_bad_topology_exits_with_2_and_one_sentence():
    done = preflight(SMOKE, '--topology=v5e:5x5')
    assert done.returncode == 2
    assert 'the slices of v5e are' in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.skipif(HAS_COMPILER, reason='libtpu is installed')
def test_without_the_compiler_one_sentence_says_how_to_get_it():
    done = preflight(SMOKE, '--topology=v5e:2x2')
    assert done.returncode == 2
    assert 'pip install -e ".[tpu]"' in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(not HAS_COMPILER, reason='needs libtpu: pip install -e ".[tpu]"')
def test_a_tiny_config_compiles_for_a_slice():
    done = preflight(SMOKE, '--topology=v5e:2x2', '--topology=v3:2x2')
    assert done.returncode == 0, done.stderr
    assert '| fits | yes | yes |' in done.stdout
    assert '| chips, devices, workers | 4, 4, 1 | 4, 8, 1 |' in done.stdout
    assert done.stderr == ''
