"""Figures of the paper that a line for each setting cannot show: rows to a picture."""

# Name of a config -> (rows of results.csv, path of the PNG) -> None.
DRAWINGS = {}
