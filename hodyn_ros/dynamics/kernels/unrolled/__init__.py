"""Inverse dynamics of order 2, unrolled and vectorised, from one source for calls and batches."""
