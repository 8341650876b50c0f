"""Data: sources, probing datasets and batches."""
