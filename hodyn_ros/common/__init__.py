"""What every room may use: the error for users, and the compiler of kernels."""
