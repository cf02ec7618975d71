"""What every room may use: the error for users, outputs, and the compiler of kernels."""
