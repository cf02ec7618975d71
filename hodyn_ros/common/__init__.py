"""Code that all packages share: the error for users, output files, the compiler of kernels."""
