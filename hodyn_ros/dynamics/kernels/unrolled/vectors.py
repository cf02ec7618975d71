"""Vectors in kernels: tuples of three numbers, each of a type of `taylor` or a float."""
from typing import Any

from hodyn_ros.dynamics.kernels.unrolled.formulas import Memory, formula

Number = Any  # a type of `taylor`, or float
Vector = tuple[Number, Number, Number]
Symmetric = tuple[Vector, Vector]  # (xx, yy, zz), (xy, xz, yz)


@formula
def read_vector(memory: Memory, index: int, like: Number) -> Vector:
    """Return the three numbers that start at memory[index]."""
    return memory.read_vector(index, 0, like)


@formula
def write_vector(memory: Memory, index: int, vector: Vector) -> None:
    """Store three numbers from memory[index] on."""
    memory.write_vector(index, 0, vector)


@formula
def write_known_vector(memory: Memory, index: int, vector: Vector) -> None:
    """Store three numbers that depend on `rates`, perhaps without their last coefficient.

    The rate of a truncated Taylor series leaves this coefficient undefined: see `taylor.store`.
    """
    memory.write_vector(index, 0, vector, known=True)


@formula
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@formula
def subtract(a: Vector, b: Vector) -> Vector:
    """Return a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@formula
def scale(number: Number, a: Vector) -> Vector:
    """Return a times a number."""
    return number * a[0], number * a[1], number * a[2]


@formula
def combine(numbers: Vector, x: Vector, y: Vector, z: Vector) -> Vector:
    """Return a x + b y + c z for the numbers a, b, c."""
    a, b, c = numbers
    return (
        a * x[0] + b * y[0] + c * z[0], a * x[1] + b * y[1] + c * z[1],
        a * x[2] + b * y[2] + c * z[2])


@formula
def dot(a: Vector, b: Vector) -> Number:
    """Return a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@formula
def cross(a: Vector, b: Vector) -> Vector:
    """Return a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@formula
def rates(a: Vector) -> Vector:
    """Return the time derivative of a vector."""
    return a[0].rate(), a[1].rate(), a[2].rate()


@formula
def times(matrix: Symmetric, a: Vector) -> Vector:
    """Return a symmetric matrix times a vector."""
    (xx, yy, zz), (xy, xz, yz) = matrix
    return (
        a[0] * xx + a[1] * xy + a[2] * xz, a[0] * xy + a[1] * yy + a[2] * yz,
        a[0] * xz + a[1] * yz + a[2] * zz)
