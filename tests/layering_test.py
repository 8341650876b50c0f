"""The floors of the library, read from its imports."""

import ast
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parent.parent / 'contrastive_jax'

# What each room may import of the library: nothing of training below training, and so on.
ALLOWED = {
    'losses': {'losses', 'errors', 'sharding'},
    'data': {'data', 'errors', 'names'},
    'models': {'models', 'errors'},
    'memory': {'memory', 'losses', 'errors', 'sharding'},
    'evaluation': {'evaluation', 'losses', 'data', 'models', 'memory', 'errors', 'sharding'},
    'panel': {'panel', 'evaluation', 'errors'},
    'views': {'views', 'errors'},
    'sharding': {'errors'},
    'names': {'errors'},
    'randomness': set(),
    'reporting': {'errors', 'storage'},
    'storage': {'errors'},
}


def imported(path):
    """Every module that a file imports, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


@pytest.mark.parametrize('path', sorted(LIBRARY.rglob('*.py')), ids=lambda path: path.stem)
def test_library_imports_no_config_experiment_or_flag(path):
    for name in imported(path):
        assert name.split('.')[0] not in ('configs', 'experiments', 'launch', 'benchmarks', 'tests')
        assert not name.startswith(('absl', 'ml_collections.config_flags'))


@pytest.mark.parametrize('path', sorted(LIBRARY.rglob('*.py')), ids=lambda path: path.stem)
def test_rooms_import_only_the_floors_below(path):
    room = path.relative_to(LIBRARY).parts[0].removesuffix('.py')
    if room not in ALLOWED:
        return  # the top floor may import everything below
    for name in imported(path):
        if name.startswith('contrastive_jax.'):
            assert name.split('.')[1] in ALLOWED[room], f'{path} imports {name}'


def test_no_module_of_tensorflow_is_imported():
    for path in LIBRARY.rglob('*.py'):
        assert not any(name.split('.')[0] == 'tensorflow' for name in imported(path)), path
