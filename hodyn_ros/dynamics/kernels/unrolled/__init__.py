"""Inverse dynamics of orders 0 to 2, unrolled and vectorised; one source for calls and batches."""
