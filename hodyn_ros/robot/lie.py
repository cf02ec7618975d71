"""SE(3) and its screws: 6-vectors are (angular, linear) for twists, (moment, force) for wrenches.

Poses are homogeneous 4×4 matrices that map body coordinates to parent or world coordinates.
"""
import math

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array

_TWO_DIGITS = 0.02  # largest difference of R R^T from I of a rotation rounded to two digits


def skew(vector: ArrayLike) -> Array:
    """Return ã, the 3×3 matrix with ã b = a × b, of each vector (…, 3)."""
    vector = np.asarray(vector, dtype=float)
    x, y, z = vector.T
    result = np.zeros((*vector.shape, 3))
    entries = result.T  # column, row, and the other axes backwards
    entries[1, 2], entries[2, 0], entries[0, 1] = x, y, z
    entries[2, 1], entries[0, 2], entries[1, 0] = -x, -y, -z
    return result


def pose(rotation: ArrayLike | None = None, position: ArrayLike | None = None) -> Array:
    """Return the 4×4 pose with this rotation matrix (default I) and position (m, default 0)."""
    matrix = np.eye(4)
    if rotation is not None:
        matrix[:3, :3] = rotation
    if position is not None:
        matrix[:3, 3] = position
    return matrix


def pose_fault(matrix: Array) -> str | None:
    """Return why a matrix (4, 4), or any of (…, 4, 4), is not a pose to 1e-6, or None."""
    rotation = matrix[..., :3, :3]
    error = np.abs(rotation @ np.swapaxes(rotation, -1, -2) - np.eye(3)).max(initial=0.0)
    if error <= 1e-6 and np.any(np.linalg.det(rotation) < 0.0):
        return 'its rotation is a reflection (its determinant is -1): turn one of its axes around'
    if error > 1e-6:
        said = f'its rotation is not orthonormal (R R^T differs from I by {error:.1e})'
        return said if error > _TWO_DIGITS else f'{said}: if it is rounded, give seven digits'
    if np.any(matrix[..., 3, :] != (0.0, 0.0, 0.0, 1.0)):
        is_column = np.all(matrix[..., :, 3] == (0.0, 0.0, 0.0, 1.0))
        return 'its last row must be 0, 0, 0, 1' + ': is it transposed?' * bool(is_column)
    return None


def nearest_rotation(matrix: Array) -> Array:
    """Return the rotation nearest to an almost orthonormal matrix, by a Newton step."""
    rotation: Array = 1.5 * matrix - 0.5 * matrix @ matrix.T @ matrix
    return rotation


def inverse(matrix: Array) -> Array:
    """Return the inverse of a pose, (4, 4), or of each of (…, 4, 4)."""
    result = np.zeros(matrix.shape)
    rotation = result[..., :3, :3] = matrix[..., :3, :3].swapaxes(-1, -2)
    result[..., :3, 3:] = -rotation @ matrix[..., :3, 3:]
    result[..., 3, 3] = 1.0
    return result


def adjoint(matrix: Array) -> Array:
    """Return Ad_C, (…, 6, 6), which maps body twists to the parent frame (M21 eq. 33)."""
    rotation = matrix[..., :3, :3]
    result = np.zeros((*matrix.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = rotation
    result[..., 3:, :3] = skew(matrix[..., :3, 3]) @ rotation
    return result


def ad(screw: ArrayLike) -> Array:
    """Return ad_X, (…, 6, 6), the screw product X × · (M21 eq. 37)."""
    screw = np.asarray(screw, dtype=float)
    result = np.zeros((*screw.shape, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = skew(screw[..., :3])
    result[..., 3:, :3] = skew(screw[..., 3:])
    return result


def rotation_x(angle: float) -> Array:
    """Return the rotation matrix of a turn about the x axis, rad."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])


def rotation_y(angle: float) -> Array:
    """Return the rotation matrix of a turn about the y axis, rad."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])


def rotation_z(angle: float) -> Array:
    """Return the rotation matrix of a turn about the z axis, rad."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def rotation_onto(axis: ArrayLike) -> Array:
    """Return a rotation matrix whose z column is the unit vector along an axis.

    An axis along z gives the identity exactly, so that ordinary models keep their frames.
    """
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    if z[2] == 1.0:
        return np.eye(3)
    # The world axis least aligned with z keeps the cross product well conditioned.
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def rotation_exp(vector: ArrayLike) -> Array:
    """Return the rotation matrix of a rotation vector (3,), rad: exp(ω̃)."""
    vector = np.asarray(vector, dtype=float)
    sine, cosine, _ = _exponential_coefficients(float(np.linalg.norm(vector)))
    turn = skew(vector)
    return np.eye(3) + sine * turn + cosine * turn @ turn


def rotation_of_quaternion(quaternion: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion (w, x, y, z), which need not be normalised."""
    quaternion = np.asarray(quaternion, dtype=float)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)]])


def quaternion(rotation: Array) -> Array:
    """Return the unit quaternion (w, x, y, z) of a rotation matrix; its largest entry is positive.

    The largest entry is computed first, so that no digits are lost at any angle.
    """
    r = rotation
    # Four times the products of the quaternion with itself.
    products = np.array([
        [1.0 + r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0],
         r[1, 0] - r[0, 1]],
        [0.0, 1.0 + r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
        [0.0, 0.0, 1.0 - r[0, 0] + r[1, 1] - r[2, 2], r[1, 2] + r[2, 1]],
        [0.0, 0.0, 0.0, 1.0 - r[0, 0] - r[1, 1] + r[2, 2]],
    ])
    largest = int(np.argmax(np.diag(products)))
    row = np.concatenate([products[:largest, largest], products[largest, largest:]])
    unit: Array = row / np.linalg.norm(row)
    return unit


def rotation_log(rotation: Array) -> Array:
    """Return the rotation vector (3,) of a rotation matrix, rad, of length at most π.

    At exactly π it is one of the two possible vectors.
    """
    turn = quaternion(rotation)
    if turn[0] < 0.0:
        turn = -turn
    sine = float(np.linalg.norm(turn[1:]))
    if sine == 0.0:
        return np.zeros(3)
    vector: Array = 2.0 * math.atan2(sine, turn[0]) / sine * turn[1:]
    return vector


def exp(screw: ArrayLike) -> Array:
    """Return the pose (4, 4) reached from I in unit time with a constant twist, the screw (6,)."""
    screw = np.asarray(screw, dtype=float)
    sine, cosine, rest = _exponential_coefficients(float(np.linalg.norm(screw[:3])))
    turn = skew(screw[:3])
    square = turn @ turn
    return pose(
        np.eye(3) + sine * turn + cosine * square,
        screw[3:] + cosine * turn @ screw[3:] + rest * square @ screw[3:])


def log(matrix: Array) -> Array:
    """Return the screw X (6,) of a pose C (4, 4): exp(X) = C, with an angle of at most π."""
    vector = rotation_log(matrix[:3, :3])
    turn, position = skew(vector), matrix[:3, 3]
    moved = turn @ position
    coefficient = _logarithm_coefficient(float(np.linalg.norm(vector)))
    return np.concatenate([vector, position - 0.5 * moved + coefficient * turn @ moved])


def dexp_inverse(screw: ArrayLike, twist: ArrayLike) -> Array:
    """Return Ẋ (6,) of a pose exp(X) that moves with the spatial twist V (6,).

    Ẋ = dexp⁻¹_X V = V − ½ ad_X V + Σ B₂ₖ / (2k)! ad_X²ᵏ V, with Bernoulli numbers B₂ₖ; if V is
    body-fixed, give −X as the screw. As ad_X⁵ = −2 θ² ad_X³ − θ⁴ ad_X, the sum is
    (c − θ² c′) ad_X² − c′ ad_X⁴, with the coefficient c(θ²) in `log` and its derivative c′.
    """
    twist = np.asarray(twist, dtype=float)
    product = ad(screw)
    angle = float(np.linalg.norm(np.asarray(screw, dtype=float)[:3]))
    slope = _logarithm_slope(angle)
    once = product @ twist
    twice = product @ once
    value = _logarithm_coefficient(angle) - angle**2 * slope
    rate: Array = twist - 0.5 * once + value * twice - slope * (product @ (product @ twice))
    return rate


def _exponential_coefficients(angle: float) -> tuple[float, float, float]:
    """Return sin θ / θ, (1 − cos θ) / θ² and (θ − sin θ) / θ³.

    The first two lose no digits: the second is computed as ½ (sin ½θ / ½θ)². The difference in the
    third has a relative error of 6 eps / θ², so below θ = 1 a series replaces it, with a relative
    remainder of 6 / 19!.
    """
    if angle == 0.0:
        return 1.0, 0.5, 1.0 / 6.0
    half = np.sin(0.5 * angle) / (0.5 * angle)
    rest = (
        (angle - np.sin(angle)) / angle**3 if angle > 1.0
        else _even_series(angle, _REST_OF_SINE))
    return np.sin(angle) / angle, 0.5 * half * half, rest


def _logarithm_coefficient(angle: float) -> float:
    """Return (1 − ½θ cot ½θ) / θ².

    The difference has a relative error of 12 eps / θ², so below θ = 1 a series replaces it. Each
    term is (θ / 2π)² of the term before it: after ten terms the remainder is below 1e-16.
    """
    if angle > 1.0:
        half = 0.5 * angle
        return float((1.0 - half * np.cos(half) / np.sin(half)) / angle**2)
    return _even_series(angle, _REST_OF_COTANGENT)


def _logarithm_slope(angle: float) -> float:
    """Return the derivative of `_logarithm_coefficient` with respect to θ².

    Near θ = 1 both branches have an error of eps, small beside the terms that the slope is added
    to.
    """
    if angle > 1.0:
        half = 0.5 * angle
        ratio = half / np.sin(half)
        return float((0.5 * ratio * (ratio + np.cos(half)) - 1.0) / angle**4)
    return _even_series(angle, _SLOPE_OF_COTANGENT)


def _even_series(angle: float, coefficients: tuple[float, ...]) -> float:
    """Return Σ c_k θ²ᵏ by Horner's scheme."""
    total = 0.0
    for coefficient in reversed(coefficients):
        total = coefficient + angle * angle * total
    return total


_REST_OF_SINE = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(8))
_BERNOULLI = (  # |B_2| … |B_20|
    1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510, 43867 / 798,
    174611 / 330)
_REST_OF_COTANGENT = tuple(
    number / math.factorial(2 * k + 2) for k, number in enumerate(_BERNOULLI))
_SLOPE_OF_COTANGENT = tuple(k * c for k, c in enumerate(_REST_OF_COTANGENT))[1:]
