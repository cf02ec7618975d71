"""Rigid-body inertia: packing of symmetric matrices, physical consistency, combination."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import lie

TOLERANCE = 1e-9  # round-off of principal values, as a share of the trace
MIN_GYRATION_RADIUS = 1e-9  # radius of gyration, m, below which differences count as rounding
# A slight violation of the triangle inequality is at most SLIGHT times the largest principal value
# (due to few digits), or the mass times SLIGHT_RADIUS², m² (due to a wrong centre of mass).
SLIGHT, SLIGHT_RADIUS = 0.1, 1e-3

SYMMETRIC_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Order in which the entries of a symmetric 3×3 matrix are packed: xx yy zz xy xz yz."""
_ROWS, _COLUMNS = (list(indices) for indices in zip(*SYMMETRIC_ENTRIES, strict=True))


def pack(matrix: Array) -> Array:
    """Return the six entries xx yy zz xy xz yz of a symmetric matrix (3, 3)."""
    return matrix[_ROWS, _COLUMNS]


def unpack(entries: Array) -> Array:
    """Return the symmetric matrix (3, 3) with the entries xx yy zz xy xz yz (6,)."""
    matrix = np.empty((3, 3))
    matrix[_ROWS, _COLUMNS] = matrix[_COLUMNS, _ROWS] = entries
    return matrix


def asymmetry(inertia: Array) -> str | None:
    """Return 'not symmetric' if a 3×3 matrix is not, otherwise None."""
    if np.abs(inertia - inertia.T).max() > 1e-9 * max(np.abs(inertia).max(), 1e-300):
        return 'not symmetric'
    return None


def physical_fault(mass: float, inertia: Array) -> str | None:
    """Return why no rigid body has this mass and inertia about its centre of mass, or None.

    The faults are a negative principal value, and two principal values whose sum is less than the
    third. The tolerance for rounding is 1e-9 times the trace, plus the mass times (1e-9 m)².
    A fault that is not slight ends with a question about the signs of the products of inertia if
    opposite ones are possible.
    """
    a, b, c, tolerance = _principal(mass, inertia)
    if a >= -tolerance and c - a - b <= tolerance:
        return None
    fault = f'not positive: its least principal value is {a:.3g} kg m^2' if a < -tolerance else (
        f'no rigid body has it: the triangle inequality is broken by {(c - a - b) / c:.2g} of the '
        f'largest principal value ({a:.4g}, {b:.4g}, {c:.4g} kg m^2)')
    # Signs are no matter of rounding: plates with few digits are slightly impossible.
    opposite = 2.0 * np.diag(np.diag(inertia)) - inertia
    a, b, c, tolerance = _principal(mass, opposite)
    if a < -tolerance or c - a - b > tolerance or is_slight(mass, inertia):
        return fault
    return (
        f'{fault}; with the opposite sign of ixy, ixz and iyz it is possible: does the CAD '
        'program give integrals of x y dm in place of -x y dm?')


def is_slight(mass: float, inertia: Array) -> bool:
    """Return whether the fault of an unphysical inertia hardly changes a torque.

    A slight fault leaves the inertia positive, and so M(q). It breaks the triangle inequality by
    at most a tenth of the largest principal value, or by at most the mass times (1 mm)².
    """
    a, b, c, tolerance = _principal(mass, inertia)
    return bool(a >= -tolerance and c - a - b <= max(SLIGHT * c, mass * SLIGHT_RADIUS**2))


def _principal(mass: float, inertia: Array) -> tuple[float, float, float, float]:
    """Return the principal values, ascending, and their tolerance for rounding."""
    a, b, c = np.linalg.eigvalsh(inertia).tolist()
    return a, b, c, TOLERANCE * abs(a + b + c) + MIN_GYRATION_RADIUS**2 * mass


def nearest_physical(inertia: Array) -> Array:
    """Return the physical inertia (3, 3) that is nearest in the Frobenius norm.

    It has the principal axes of the symmetric part; `nearest_principal` gives its values.
    """
    principal, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    found: Array = axes * nearest_principal(principal) @ axes.T
    nearest: Array = 0.5 * (found + found.T)
    return nearest


def nearest_principal(principal: Array, least: float = 0.0) -> Array:
    """Return the nearest principal values (3,) that a body can have.

    Each is the sum of two of the body's three second moments, which are at least `least`.
    """
    if np.all(0.5 * principal.sum() - principal >= least):
        return principal
    from scipy.optimize import nnls  # slow to import, and rarely needed

    sums = np.ones((3, 3)) - np.eye(3)
    moments, _ = nnls(sums, principal - 2.0 * least)
    found: Array = sums @ moments + 2.0 * least
    return found


def combine(
    mass: float, com: Array, inertia: Array,
    other_mass: float, other_com: Array, other_inertia: Array, placement: Array,
) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia about it of two bodies fixed to each other.

    Masses are in kg. Centres of mass, (3,), m, and inertias, (3, 3), kg m², are in each body's own
    frame. `placement`, (4, 4), is the pose of the other body in the first body's frame, in which
    the result is given.
    """
    rotation = placement[:3, :3]
    other_com = rotation @ other_com + placement[:3, 3]
    total = mass + other_mass
    middle = (mass * com + other_mass * other_com) / total if total > 0.0 else com
    first, second = lie.skew(com - middle), lie.skew(other_com - middle)
    return total, middle, (
        inertia - mass * first @ first
        + rotation @ other_inertia @ rotation.T - other_mass * second @ second)
