"""How every command runs: flags in, one clear sentence on bad input, an exit code out.

0: done, already finished, or help. 1: a run or a check failed. 2: bad input, flags included.
42: preempted by SIGTERM after saving; the same command goes on. 130: interrupted by Ctrl-C.
"""

import logging
import os
import platform
import signal
import sys
import threading
from pathlib import Path

from absl import flags

from contrastive_jax.errors import BadInput, Preempted, RunFailed
from experiments import config_files

DONE, FAILED, BAD_INPUT, PREEMPTED, INTERRUPTED = 0, 1, 2, 42, 130
ENDINGS = {  # the exit code and the word before the sentence
    BadInput: (BAD_INPUT, 'error'),
    RunFailed: (FAILED, 'failed'),
    Preempted: (PREEMPTED, 'preempted'),
    OSError: (FAILED, 'failed'),  # of a disk, whose message names the file
}
FLAGS = ('__main__', 'experiments.config_files', 'experiments.processes')
HELP = {'--help', '-help', '-h', '--helpshort', '--helpfull'}


def run(main):
    """Parses the flags, calls `main()`, and exits.

    Args:
      main: a function without arguments that returns an exit code or None for 0.
    """
    use_large_pages()
    tell_once()
    signal.signal(signal.SIGTERM, preempt)
    code = exit_code(main, sys.argv)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end has come without it
    if code in (PREEMPTED, INTERRUPTED):  # what was left may still be at work on a thread
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def exit_code(main, argv):
    """What `run` exits with; `main` is not called when the flags are wrong or ask for help."""
    if HELP & set(argv[1:]):
        print(sys.modules['__main__'].__doc__ or '')
        for module in FLAGS:
            print(flags.FLAGS.module_help(module))
        return DONE
    try:
        check_config_flags(argv[1:])
        leftover = flags.FLAGS(argv)[1:]
        if leftover:
            raise BadInput(f'{leftover[0]!r} is not a flag; flags look like --name=value.')
    except Preempted as error:
        return tell(error)
    except Exception as error:  # a config file is Python of the user's: it may raise anything
        return tell(BadInput(describe(error)))
    keep_compiled_programs()
    repeat_to_the_bit()
    try:
        return main() or DONE
    except tuple(ENDINGS) as error:
        return tell(error)
    except KeyboardInterrupt:
        print('\ninterrupted: what was written before is kept.', file=sys.stderr)
        return INTERRUPTED


def preempt(number, frame):
    """The handler of SIGTERM where no step is under way: before the first and between two runs."""
    del frame
    signal.signal(number, signal.SIG_IGN)  # a second one must not disturb the ending
    raise Preempted('SIGTERM came; what was written before is kept.')


def check_config_flags(arguments):
    """Raises BadInput for a config file that is not there or a field that it lacks.

    absl and ml_collections notice both, but name neither the choices nor the nearest one.
    """
    given = [
        argument.lstrip('-').split('=', 1) for argument in arguments if argument.startswith('-')
    ]
    paths = [value[0] for name, *value in given if name == 'config' and value]
    if not paths:
        return
    path, _, argument = paths[-1].partition(':')
    if not Path(path).is_file():
        raise BadInput(f'--config is {path!r}: there is no such file.')
    fields = [name.removeprefix('config.') for name, *_ in given if name.startswith('config.')]
    if fields:
        config = config_files.load(path).get_config(*([argument] if argument else []))
        for field in fields:
            config_files.check_field(config, field)


def tell(error):
    """Prints the sentence of one of ENDINGS; returns the exit code for it."""
    code, word = next(ending for kind, ending in ENDINGS.items() if isinstance(error, kind))
    print(f'{word}: {error}', file=sys.stderr)
    return code


def describe(error):
    """One sentence for an error from parsing flags or loading a config file."""
    if isinstance(error, BadInput):
        return str(error)
    # ml_collections puts the whole traceback into the message; its last line says it.
    sentence = str(error).strip().splitlines()[-1] if str(error).strip() else ''
    return sentence if isinstance(error, flags.Error) else f'{type(error).__name__}: {sentence}'


def tell_once():
    """Keeps threads and exit handlers from adding tracebacks to what a run tells in a sentence.

    On a full disk the writers of checkpoints and events each fail in their own thread, and the run
    fails with the same error in its own. Where a bucket refuses one object of a checkpoint, the
    others are still under way when Orbax has given up, and TensorStore finds no loop to tell.
    """

    def told(error):
        return isinstance(error, OSError) or str(error) == 'Event loop is closed'

    def quiet(hook):
        return lambda error: None if told(error.exc_value) else hook(error)

    def again(hook):
        return lambda error: hook(error) if not raise_again(error.exc_value) else None

    threading.excepthook = quiet(threading.excepthook)
    sys.unraisablehook = again(quiet(sys.unraisablehook))
    logging.getLogger('absl').addFilter(lambda record: 'orbax' not in record.pathname)


def raise_again(error):
    """Sends a signal once more whose exception is lost, in a callback of C; whether it was one."""
    if not isinstance(error, KeyboardInterrupt | Preempted):
        return False
    number = signal.SIGTERM if isinstance(error, Preempted) else signal.SIGINT
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, preempt)
    # A little later, or it would be lost again, in the hook that calls this.
    threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
    return True


def use_large_pages():
    """Starts this process again with memory in large pages, where the C library can do so.

    On a CPU, XLA asks for its temporaries anew at each step, and mapping them in small pages takes
    a quarter of the time: `python -m benchmarks.train` is 1.2 to 1.3 times as fast with large ones.
    The C library reads the setting only at its start. A GLIBC_TUNABLES of your own, even an empty
    one, is left alone.
    """
    if platform.libc_ver()[0] == 'glibc' and 'GLIBC_TUNABLES' not in os.environ:
        os.environ['GLIBC_TUNABLES'] = 'glibc.malloc.hugetlb=1'
        os.execv(sys.executable, sys.orig_argv)


def repeat_to_the_bit():
    """Tells XLA so, where --deterministic is given; to be called before JAX asks for devices.

    A CPU does so in any case. On a GPU scattered sums and some convolutions do not.
    """
    if 'deterministic' in flags.FLAGS and flags.FLAGS.deterministic:
        given = os.environ.get('XLA_FLAGS', '')
        os.environ['XLA_FLAGS'] = f'{given} --xla_gpu_exclude_nondeterministic_ops=true'.strip()


def keep_compiled_programs():
    """Keeps compiled programs on disk, so that a second run of a config starts at once."""
    if 'JAX_COMPILATION_CACHE_DIR' not in os.environ:
        import jax  # not above: --help must answer at once

        home = os.environ.get('CONTRASTIVE_JAX_CACHE')
        directory = Path(home) if home else Path.home() / '.cache' / 'contrastive_jax'
        jax.config.update('jax_compilation_cache_dir', str(directory / 'programs'))
