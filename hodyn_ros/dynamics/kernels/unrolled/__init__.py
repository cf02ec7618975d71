"""Inverse dynamics of order 2 at full speed, from one text for single calls and for batches."""
