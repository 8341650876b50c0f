"""Experiments as data: one file an experiment, with get_config(arg), sweep() and figure()."""
