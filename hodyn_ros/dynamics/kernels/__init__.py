"""Numba kernels: the algorithms on plain arrays, whose values are not checked."""
