"""The ways a run ends early; `experiments.cli` turns each into an exit code."""


class BadInput(ValueError):
    """The user asked for something that cannot be: one sentence with field, value and choices."""


class RunFailed(RuntimeError):
    """A run or a check failed on good input, for example on a loss that is not finite."""


class Preempted(BaseException):
    """SIGTERM came: what could be saved is saved, and the same command goes on from there.

    It may be raised anywhere, as `KeyboardInterrupt`, and is no `Exception` for the same reason:
    who catches what fails must not take it for a failure.
    """
