"""What a compiled program sends between devices and moves in memory, from the text of its HLO."""

import re
from typing import NamedTuple

import numpy as np

KINDS = ('all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute')

# Bytes that a device of k must send of each byte of the whole: of what is reduced, of what is
# gathered, of what is exchanged.
SENT = {
    'all-reduce': lambda k: 2 * (k - 1) / k,
    'all-gather': lambda k: (k - 1) / k,
    'reduce-scatter': lambda k: (k - 1) / k,
    'all-to-all': lambda k: (k - 1) / k,
    'collective-permute': lambda k: 1.0,
}

COMPUTATION = re.compile(r'^(ENTRY )?%?([\w.\-]+) .*\{$')
ARRAY = re.compile(r'\b([a-z]+)(\d*)(?:e\d+m\d+\w*)?\[([\d,]*)\]')
CALLED = re.compile(
    r'\b(calls|to_apply|body|condition|true_computation|false_computation|branch_computations|'
    r'called_computations)=(\{[^}]*\}|%?[\w.\-]+)'
)
# {{0,1},{2,3}}, or [groups,devices]<=[...], or mesh['a'=2,'b'=4] {'a'}.
GROUPS = re.compile(r'replica_groups=(?:\{\{([\d,]*)\}|\[\d+,(\d+)\]|mesh\[([^\]]*)\] \{([^}]*)\})')

# The compiler may run one collective beside several fusions: each of them then has a copy of it.
PIECE = re.compile(r'channel_id=(\d+),.*chain_id="')

# What moves nothing in memory; of an asynchronous pair the first half counts.
STILL = {'parameter', 'get-tuple-element', 'tuple', 'bitcast', 'constant', 'after-all'}
LAYOUT_ON_CHIP = re.compile(r'\{[^}]*S\(1\)')


class Collective(NamedTuple):
    """One collective operation of a device.

    Attributes:
      kind: one of KINDS.
      size: bytes of the whole: of what is reduced, gathered, exchanged or passed on.
      devices: in a group; 0 if the text says all.
      in_loop: whether it stands in the body of a loop.
      name: where the program has it, by its metadata.
    """

    kind: str
    size: int
    devices: int
    in_loop: bool
    name: str

    def sent(self, all_devices):
        """The fewest bytes that a device sends."""
        return self.size * SENT[self.kind](self.devices or all_devices)


def collectives_in(text):
    """The collectives of a program, those of a loop's body once.

    Asynchronous pairs count once, and so do those in fusions and wrapped computations, even where
    one is spread over several fusions; a tuple has the bytes of all its arrays.

    Args:
      text: of a compiled HLO module.

    Returns:
      A list of `Collective`.
    """
    computations, entry = _computations(text)
    found, begun = [], set()

    def walk(name, in_loop):
        for line in computations.get(name, ()):
            collective, piece = _collective(line, in_loop), PIECE.search(line)
            if collective and not (piece and piece[1] in begun):
                found.append(collective)
                begun.update(piece.groups() if piece else ())
            for role, called in CALLED.findall(line):
                for each in re.findall(r'[\w.\-]+', called):
                    walk(each, in_loop or role in ('body', 'condition'))

    walk(entry, False)
    return found


def _computations(text):
    """Lines of each computation by its name, and the name of the one that begins."""
    computations, entry, lines = {}, None, []
    for line in text.splitlines():
        if opening := COMPUTATION.match(line):
            lines = computations[opening[2]] = []
            entry = opening[2] if opening[1] else entry
        elif ' = ' in line:
            lines.append(line)
    return computations, entry


def _collective(line, in_loop):
    shape, rest = _split_shape(line.split(' = ', 1)[1])
    opcode = rest.split('(', 1)[0].strip()
    kind = opcode.removesuffix('-start')
    if kind not in KINDS:
        return None
    if opcode in ('all-gather-start', 'collective-permute-start'):  # (operands, results, ...)
        shape = _parts(shape)[1]
    size = sum(_bytes(*array) for array in ARRAY.findall(shape))
    devices = _group_size(rest)
    name = re.search(r'op_name="([^"]*)"', rest)
    if kind == 'reduce-scatter':
        size *= devices or 1
    return Collective(kind, size, devices, in_loop, name[1] if name else '')


def _group_size(text):
    """Devices of a group; 0 where the text names none, which means all."""
    if not (groups := GROUPS.search(text)):
        return 0
    listed, counted, sizes, axes = groups.groups()
    if listed is not None:
        return len(listed.split(','))
    if counted:
        return int(counted)
    sizes = dict(re.findall(r"'([^']+)'=(\d+)", sizes))
    return int(np.prod([int(sizes[axis]) for axis in re.findall(r"'([^']+)'", axes)]))


def memory_traffic(text):
    """Bytes that a device reads and writes in HBM in one run of a program, loop bodies once.

    The operands and results of its operations, without those that the compiler keeps on the chip.
    Of a gather or a slice inside a fusion the whole operand counts.

    Args:
      text: of a compiled HLO module.
    """
    computations, entry = _computations(text)
    total = 0

    def walk(name):
        nonlocal total
        shapes = {}
        for line in computations.get(name, ()):
            result, rest = line.strip().removeprefix('ROOT ').split(' = ', 1)
            shape, rest = _split_shape(rest)
            shapes[result] = shape
            opcode = rest.split('(', 1)[0].strip()
            if opcode == 'while':
                for role, called in CALLED.findall(line):
                    if role == 'body':
                        walk(called.lstrip('%'))
            elif opcode.endswith('-start'):
                total += _moved(opcode, shape)
            elif opcode not in STILL and not opcode.endswith('-done'):
                operands = re.findall(r'%[\w.\-]+', rest.split('), ', 1)[0])
                total += _in_memory(shape)
                total += sum(_in_memory(shapes.get(operand, '')) for operand in operands)

    walk(entry)
    return total


def _moved(opcode, shape):
    """Bytes that an asynchronous copy or slice reads and writes in memory."""
    if not shape.startswith('('):
        return 2 * _in_memory(shape)
    parts = _parts(shape)
    if opcode == 'copy-start':  # (copy, original, context)
        return _in_memory(parts[0]) + _in_memory(parts[1])
    # ((operands), result, context): what is cut out of an operand is as long as the result.
    moved = sum(_bytes(*array) for array in ARRAY.findall(parts[1]))
    return moved + _in_memory(parts[1])


def _in_memory(shape):
    """Bytes of the arrays of a shape that lie in HBM."""
    return sum(
        _bytes(*array.groups())
        for array in ARRAY.finditer(shape)
        if not LAYOUT_ON_CHIP.match(shape, array.end())
    )


def _split_shape(text):
    """The shape that an instruction begins with, which may be a tuple of tuples, and the rest."""
    if not text.startswith('('):
        return text.split(' ', 1)
    end = next(place for place, depth in _depths(text) if not depth) + 1
    return text[:end], text[end:].strip()


def _parts(shape):
    """The elements of a tuple's shape."""
    commas = [place for place, depth in _depths(shape) if depth == 1 and shape[place] == ',']
    edges = [0, *commas, len(shape) - 1]
    return [shape[edges[i] + 1 : edges[i + 1]] for i in range(len(edges) - 1)]


def _depths(text):
    """Each place of a text with the brackets that are open behind it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in '([{') - (letter in ')]}')
        yield place, depth


def _bytes(kind, bits, shape):
    """Bytes of an array such as ('bf', '16', '8,128')."""
    entries = int(np.prod([int(side) for side in shape.split(',') if side], dtype=np.int64))
    return entries * max(int(bits or 8), 8) // 8  # a truth value (pred) takes a byte
