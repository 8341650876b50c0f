"""Comparisons with peers, one command each."""
