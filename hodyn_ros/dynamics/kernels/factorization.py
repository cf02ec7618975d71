"""The factorization L D Lᵀ of the inertia, (6, 6), of a body that moves freely."""
from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import step

SINGULAR = 1e-13
"""A pivot up to this fraction of the diagonal entry counts as zero."""


@step
def factorize(matrix: Array, factors: Array) -> bool:
    """Write L, with D on its diagonal, of L D Lᵀ = matrix; False if not positive definite."""
    for row in range(6):
        for c in range(row + 1):
            value = matrix[row, c]
            for d in range(c):
                value -= factors[row, d] * factors[d, d] * factors[c, d]
            if c < row:
                factors[row, c] = value / factors[c, c]
            else:
                if not value > SINGULAR * matrix[row, row]:
                    return False
                factors[row, row] = value
    return True


@step
def solve(factors: Array, x: Array) -> None:
    """Replace x by the solution of L D Lᵀ y = x."""
    for row in range(6):
        for c in range(row):
            x[row] -= factors[row, c] * x[c]
    for row in range(6):
        x[row] /= factors[row, row]
    for row in range(5, -1, -1):
        for c in range(row + 1, 6):
            x[row] -= factors[c, row] * x[c]
