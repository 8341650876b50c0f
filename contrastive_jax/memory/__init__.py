"""Stored representations as plain state: a bank of one row per example, a queue of recent keys.

`bank` and `queue` have init, read and write; `neighbours` and `clusters` choose the sets of bank
rows that the objectives of `losses.neighbour_sets` compare with.
"""
