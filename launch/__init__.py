"""Cloud TPU: what a config needs of a slice, before one is paid for."""
