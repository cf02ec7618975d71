"""Shared by all packages: the error for users, outputs, and the compiler of kernels."""
