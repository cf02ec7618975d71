"""Kernels for numba, which the algorithms run on arrays only, without checks."""
