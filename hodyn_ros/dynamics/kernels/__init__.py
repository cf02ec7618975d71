"""What the algorithms run: kernels for numba, on arrays alone; nothing is checked in them."""
