"""A floating base in `LANES` motions side by side: its six unit twists, and its displacements."""
from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import lanes
from hodyn_ros.dynamics.kernels.decorators import step
from hodyn_ros.dynamics.kernels.lanes import LANES, Number, put6, row3, row6
from hodyn_ros.dynamics.kernels.moving_bodies import Bodies, crossed


@step
def screws(bodies: Bodies, joints: int, gravity: Array) -> None:
    """Write screw, rate and acceleration for six unit twists e of the base, from row `joints` on.

    The rate is V × e and the acceleration V × (V × e) + (V̇ − g) × e.
    """
    twist, gx, gy, gz = bodies.twist[0], gravity[0], gravity[1], gravity[2]
    for c in range(6):
        screw, rate = bodies.screw[joints + c], bodies.rate[joints + c]
        screw[:] = 0.0
        screw[0, c] = 1.0
        for k in range(len(rate)):
            put6(rate, k, *crossed(twist, k, screw, 0))
        for k in range(len(rate)):
            s = float(k + 1)
            x, y, z, u, v, w = crossed(twist, k + 1, screw, 0)
            x, y, z, u, v, w = s * x, s * y, s * z, s * u, s * v, s * w
            if k == 0:
                a, b, d = row3(screw, 0)
                u, v, w = u + (b * gz - d * gy), v + (d * gx - a * gz), w + (a * gy - b * gx)
            for a in range(k + 1):
                dx, dy, dz, du, dv, dw = crossed(twist, a, rate, k - a)
                x, y, z, u, v, w = x + dx, y + dy, z + dz, u + du, v + dv, w + dw
            put6(bodies.acceleration[joints + c], k, x, y, z, u, v, w)


@step
def displacements(bodies: Bodies, eta: Array) -> None:
    """Write the displacements of a floating base for changes of its pose, twist and derivatives.

    A displacement by a spatial twist η has the rate η̇ = δV + V × η. `eta[m, c]`, in all
    (r + 3, 6, r + 1, 6, LANES), gets the coefficients of η for a unit change of component c of
    η(0) if m = 0, else of V⁽ᵐ⁻¹⁾.
    """
    twist = bodies.twist[0]
    factorial = 1.0
    for m in range(eta.shape[0]):
        factorial *= max(m - 1, 1)
        for c in range(6):
            unit = eta[m, c]
            unit[:] = 0.0
            for k in range(len(unit)):
                if k == m:
                    unit[k, c] = 1.0 if m == 0 else 1.0 / (k * factorial)
                x, y, z, u, v, w = row6(unit, k)
                for a in range(k):
                    part = 1.0 / k
                    dx, dy, dz, du, dv, dw = crossed(twist, a, unit, k - 1 - a)
                    x, y, z = x + part * dx, y + part * dy, z + part * dz
                    u, v, w = u + part * du, v + part * dv, w + part * dw
                put6(unit, k, x, y, z, u, v, w)


@step
def displaced(
    partials: Array, eta: Array, k: int, m: int, row: int, column: int,
) -> Number:
    """Return Taylor coefficient k of A₀ η, the change of a torque by the base's displacement η.

    `partials` begins with A₀, the derivatives of the torques with respect to displacements, and
    `eta` is from `displacements`.
    """
    size, like, total = partials.shape[2], lanes.zero(), lanes.zero()
    for a in range(k + 1):
        for c in range(6):
            total = total + lanes.read(
                partials, ((a * size + row) * size + c) * LANES, like) * lanes.read(
                    eta[m, column], (6 * (k - a) + c) * LANES, like)
    return total


@step
def about_world_origin(pose: Array, out: Array) -> None:
    """Move the base's rows and columns from the base's origin to the world origin."""
    x, y, z = pose[0, 3], pose[1, 3], pose[2, 3]
    for k in range(out.shape[0]):
        for m in range(out.shape[1]):
            for i in range(out.shape[2]):
                u, v, w = out[k, m, 3, i], out[k, m, 4, i], out[k, m, 5, i]
                out[k, m, 0, i] += y * w - z * v
                out[k, m, 1, i] += z * u - x * w
                out[k, m, 2, i] += x * v - y * u
            for i in range(out.shape[2]):
                u, v, w = out[k, m, i, 3], out[k, m, i, 4], out[k, m, i, 5]
                out[k, m, i, 0] += y * w - z * v
                out[k, m, i, 1] += z * u - x * w
                out[k, m, i, 2] += x * v - y * u
