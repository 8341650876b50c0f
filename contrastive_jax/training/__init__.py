"""Training: from a config to a trained, evaluated encoder."""
