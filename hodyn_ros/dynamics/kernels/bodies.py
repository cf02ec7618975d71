"""Motion and momentum of one body in spatial representation, in Taylor coefficients.

The steps that the spatial kernels share. A coefficient is x_k = x⁽ᵏ⁾ / k!, which turns the Leibniz
sums of M21 eqs. (9), (14), (18)–(22) and of AGF26 (61)–(69) into Cauchy products. Arrays of
coefficients have them on the first axis. A step writes the coefficients from `start` to `stop` − 1
from those below, so a caller can go through all orders of a body at once or, where an order needs
the solution of the one before it, through all bodies order by order.

The momentum balance is taken about the world origin, but its inertia is split into the mass on the
path c(t) of the centre of mass and the spin about it: that spares the 6×6 mass matrix and its
derivatives, and weight enters the force alone.
"""
import numba as nb
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

kernel = nb.njit(cache=True, fastmath={'contract'})
step = nb.njit(cache=True, fastmath={'contract'}, forceinline=True)
inlined = nb.njit(cache=True, fastmath={'contract'}, inline='always')


@inlined
def cross_add(a: Array, b: Array, out: Array) -> None:
    """Add a × b to out, all (3,)."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@step
def three(array: Array, k: int) -> tuple[float, float, float]:
    """Return a row of an array (…, 3); to unpack the row itself would count a reference."""
    return array[k, 0], array[k, 1], array[k, 2]


@step
def six(array: Array, k: int) -> tuple[float, float, float, float, float, float]:
    """Return a row of an array (…, 6)."""
    return array[k, 0], array[k, 1], array[k, 2], array[k, 3], array[k, 4], array[k, 5]


@step
def place_base(base_pose: Array, pose: Array, screw: Array) -> None:
    """Pose of a floating base, rows of R then r; it has no joint screw."""
    for row in range(3):
        for column in range(3):
            pose[3 * row + column] = base_pose[row, column]
        pose[9 + row] = base_pose[row, 3]
    for c in range(6):
        screw[0, c] = 0.0


@step
def place(parent: int, constants: Array, q: float, pose: Array, i: int, screw: Array) -> None:
    """Pose of kernel frame i, rows of R then r, and the joint screw S (M21 eqs. 4 and 7)."""
    rotation, shift = constants[12], constants[13]
    sine, cosine = np.sin(rotation * q), np.cos(rotation * q)
    for row in range(3):
        if parent < 0:
            x, y, z = constants[3 * row], constants[3 * row + 1], constants[3 * row + 2]
            origin = constants[9 + row]
        else:
            a, b, c = pose[parent, 3 * row], pose[parent, 3 * row + 1], pose[parent, 3 * row + 2]
            x = a * constants[0] + b * constants[3] + c * constants[6]
            y = a * constants[1] + b * constants[4] + c * constants[7]
            z = a * constants[2] + b * constants[5] + c * constants[8]
            origin = (
                pose[parent, 9 + row] + a * constants[9] + b * constants[10] + c * constants[11])
        pose[i, 3 * row] = cosine * x + sine * y
        pose[i, 3 * row + 1] = cosine * y - sine * x
        pose[i, 3 * row + 2] = z
        pose[i, 9 + row] = origin + shift * q * z
    ex, ey, ez = pose[i, 2], pose[i, 5], pose[i, 8]
    rx, ry, rz = pose[i, 9], pose[i, 10], pose[i, 11]
    screw[0, 0] = rotation * ex
    screw[0, 1] = rotation * ey
    screw[0, 2] = rotation * ez
    screw[0, 3] = rotation * (ry * ez - rz * ey) + shift * ex
    screw[0, 4] = rotation * (rz * ex - rx * ez) + shift * ey
    screw[0, 5] = rotation * (rx * ey - ry * ex) + shift * ez


@step
def move(
    start: int, stop: int, parent_twist: Array, rate: Array, screw: Array, twist: Array,
) -> None:
    """Joint screw and twist: Ṡ = ad_V S and V = V_parent + S q̇ (M21 eqs. 6 and 9).

    Parameters
    ----------
    start, stop : int
        Coefficients to write, the last one less than `stop`.
    parent_twist : (k, 6) array
        Coefficients of the parent's twist; of the world's, (0, 6).
    rate : (k,) array
        Coefficients of q̇.
    screw, twist : (k, 6) arrays
        Coefficients, written; the screw's first one is given.

    """
    for k in range(start, stop):
        if k > 0:
            x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for a in range(k):
                px, py, pz, pu, pv, pw = six(twist, a)
                sx, sy, sz, su, sv, sw = six(screw, k - 1 - a)
                x += py * sz - pz * sy
                y += pz * sx - px * sz
                z += px * sy - py * sx
                u += pv * sz - pw * sy + py * sw - pz * sv
                v += pw * sx - pu * sz + pz * su - px * sw
                w += pu * sy - pv * sx + px * sv - py * su
            part = 1.0 / k  # six divisions would take longer
            screw[k, 0], screw[k, 1], screw[k, 2] = x * part, y * part, z * part
            screw[k, 3], screw[k, 4], screw[k, 5] = u * part, v * part, w * part
        x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if parent_twist.shape[0] > 0:
            x, y, z, u, v, w = six(parent_twist, k)
        for b in range(k + 1):
            sx, sy, sz, su, sv, sw = six(screw, k - b)
            x += sx * rate[b]
            y += sy * rate[b]
            z += sz * rate[b]
            u += su * rate[b]
            v += sv * rate[b]
            w += sw * rate[b]
        twist[k, 0], twist[k, 1], twist[k, 2] = x, y, z
        twist[k, 3], twist[k, 4], twist[k, 5] = u, v, w


@step
def _advance(k: int, u: float, v: float, w: float, twist: Array, vector: Array) -> None:
    """Coefficient k > 0 of a vector whose rate is ω × x and, of coefficient k − 1, (u, v, w)."""
    for a in range(k):
        wx, wy, wz = twist[a, 0], twist[a, 1], twist[a, 2]
        x, y, z = three(vector, k - 1 - a)
        u += wy * z - wz * y
        v += wz * x - wx * z
        w += wx * y - wy * x
    part = 1.0 / k
    vector[k, 0], vector[k, 1], vector[k, 2] = u * part, v * part, w * part


@step
def turn(start: int, stop: int, twist: Array, direction: Array) -> None:
    """A body-fixed direction, start > 0: ė = ω × e."""
    for k in range(start, stop):
        _advance(k, 0.0, 0.0, 0.0, twist, direction)


@step
def follow(start: int, stop: int, twist: Array, point: Array) -> None:
    """A body-fixed point, start > 0: ṗ = v + ω × p."""
    for k in range(start, stop):
        _advance(k, twist[k - 1, 3], twist[k - 1, 4], twist[k - 1, 5], twist, point)


@step
def place_com(constants: Array, pose: Array, com: Array) -> None:
    """Position of the centre of mass, coefficient 0."""
    for row in range(3):
        com[0, row] = pose[9 + row]
        for c in range(3):
            com[0, row] += pose[3 * row + c] * constants[15 + c]


@step
def place_inertia(constants: Array, pose: Array, inertia: Array) -> None:
    """Inertia Θ about the centre of mass in world axes (xx yy zz xy xz yz), coefficient 0."""
    xx, yy, zz = constants[18], constants[19], constants[20]
    xy, xz, yz = constants[21], constants[22], constants[23]
    for entry, (row, column) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
        a, b, c = pose[3 * row], pose[3 * row + 1], pose[3 * row + 2]
        d, e, f = pose[3 * column], pose[3 * column + 1], pose[3 * column + 2]
        inertia[0, entry] = (
            a * (xx * d + xy * e + xz * f) + b * (xy * d + yy * e + yz * f)
            + c * (xz * d + yz * e + zz * f))


@step
def spatial_inertia(mass: float, com: Array, inertia: Array, out: Array) -> None:
    """Inertia matrix of a body in world axes about the world origin (AGF26 eq. 60)."""
    x, y, z = com
    xx, yy, zz, xy, xz, yz = inertia
    for row in range(6):
        for c in range(6):
            out[row, c] = 0.0
    out[0, 0] = xx + mass * (y * y + z * z)
    out[1, 1] = yy + mass * (x * x + z * z)
    out[2, 2] = zz + mass * (x * x + y * y)
    out[0, 1] = out[1, 0] = xy - mass * x * y
    out[0, 2] = out[2, 0] = xz - mass * x * z
    out[1, 2] = out[2, 1] = yz - mass * y * z
    out[3, 3] = out[4, 4] = out[5, 5] = mass
    out[1, 3] = out[3, 1] = mass * z
    out[2, 3] = out[3, 2] = -mass * y
    out[0, 4] = out[4, 0] = -mass * z
    out[2, 4] = out[4, 2] = mass * x
    out[0, 5] = out[5, 0] = mass * y
    out[1, 5] = out[5, 1] = -mass * x


@step
def turn_inertia(start: int, stop: int, twist: Array, inertia: Array) -> None:
    """Θ, start > 0: Θ̇ = ω̃ Θ − Θ ω̃."""
    for k in range(start, stop):
        ixx, iyy, izz, ixy, ixz, iyz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(k):
            x, y, z = twist[a, 0], twist[a, 1], twist[a, 2]
            xx, yy, zz, xy, xz, yz = six(inertia, k - 1 - a)
            ixx += 2.0 * (y * xz - z * xy)
            iyy += 2.0 * (z * xy - x * yz)
            izz += 2.0 * (x * yz - y * xz)
            ixy += z * (xx - yy) + y * yz - x * xz
            ixz += y * (zz - xx) + x * xy - z * yz
            iyz += x * (yy - zz) + z * xz - y * xy
        part = 1.0 / k
        inertia[k, 0], inertia[k, 1], inertia[k, 2] = ixx * part, iyy * part, izz * part
        inertia[k, 3], inertia[k, 4], inertia[k, 5] = ixy * part, ixz * part, iyz * part


@step
def spin_momentum(start: int, stop: int, twist: Array, inertia: Array, spin: Array) -> None:
    """Θ ω, the angular momentum about the centre of mass."""
    for k in range(start, stop):
        lx, ly, lz = 0.0, 0.0, 0.0
        for a in range(k + 1):
            x, y, z = twist[k - a, 0], twist[k - a, 1], twist[k - a, 2]
            xx, yy, zz, xy, xz, yz = six(inertia, a)
            lx += xx * x + xy * y + xz * z
            ly += xy * x + yy * y + yz * z
            lz += xz * x + yz * y + zz * z
        spin[k, 0], spin[k, 1], spin[k, 2] = lx, ly, lz


@step
def balance(
    start: int, stop: int, mass: float, gravity: Array, com: Array, spin: Array, force: Array,
    wrench: Array,
) -> None:
    """The wrench that moves the body and holds its weight (M21 eqs. 15–22, AGF26 eq. 57).

    Coefficient k reads k + 2 of c and k + 1 of Θ ω; `force` keeps the force.
    """
    for k in range(start, stop):
        for c in range(3):
            force[k, c] = mass * (k + 2) * (k + 1) * com[k + 2, c]
            if k == 0:
                force[k, c] -= mass * gravity[c]
            wrench[k, 3 + c] = force[k, c]
        x, y, z = (k + 1) * spin[k + 1, 0], (k + 1) * spin[k + 1, 1], (k + 1) * spin[k + 1, 2]
        for a in range(k + 1):
            cx, cy, cz = three(com, a)
            fx, fy, fz = three(force, k - a)
            x += cy * fz - cz * fy
            y += cz * fx - cx * fz
            z += cx * fy - cy * fx
        wrench[k, 0], wrench[k, 1], wrench[k, 2] = x, y, z


@step
def place_frame(body_in_kernel: Array, pose: Array, frame: Array) -> None:
    """Columns of the body's rotation and its origin, coefficient 0 of frame (…, 4, 3)."""
    for row in range(3):
        for c in range(3):
            entry = 0.0
            for d in range(3):
                entry += pose[3 * row + d] * body_in_kernel[d, c]
            frame[0, c, row] = entry
        frame[0, 3, row] = pose[9 + row]
        for d in range(3):
            frame[0, 3, row] += pose[3 * row + d] * body_in_kernel[d, 3]


@step
def follow_frame(start: int, stop: int, twist: Array, frame: Array) -> None:
    """Columns of R and the origin, start > 0."""
    for c in range(3):
        turn(start, stop, twist, frame[:, c])
    follow(start, stop, twist, frame[:, 3])


@step
def to_world(start: int, stop: int, frame: Array, wrench: Array, world: Array) -> None:
    """Ad⁻ᵀ w, a body wrench in world axes about the world origin (AGF26 eq. 69)."""
    for k in range(start, stop):
        for c in range(6):
            world[k, c] = 0.0
        for a in range(k + 1):
            for c in range(3):
                for row in range(3):
                    world[k, row] += frame[a, c, row] * wrench[k - a, c]
                    world[k, 3 + row] += frame[a, c, row] * wrench[k - a, 3 + c]
        for a in range(k + 1):
            cross_add(frame[a, 3], world[k - a, 3:], world[k, :3])
