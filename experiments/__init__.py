"""Entry points: flags to library calls, nothing else."""
