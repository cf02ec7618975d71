"""Random robots and motions, for property tests."""
import math

import numpy as np

from hodyn_ros import jacobian, load_robot

KINDS = ('revolute', 'prismatic', 'helical')


def random_rotation(rng):
    """Return a rotation matrix, uniform over SO(3)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def random_pose(rng, spread=0.3):
    """Return a (4, 4) pose: any rotation, position of the size of `spread` (m)."""
    pose = np.eye(4)
    pose[:3, :3] = random_rotation(rng)
    pose[:3, 3] = rng.normal(scale=spread, size=3)
    return pose


def random_inertia(rng, mass):
    """Return an inertia (3, 3) about the COM, of a body of some 10 cm; physical."""
    spread = rng.normal(scale=0.1, size=(3, 3))
    covariance = mass * spread @ spread.T
    return np.trace(covariance) * np.eye(3) - covariance


def random_mapping(rng, n_bodies, kinds=KINDS, floating=False, serial=True, coupled=False):
    """Return a robot as a mapping; `n_bodies` counts the floating base.

    With `coupled`, some joints follow others, which may follow others again.
    """
    bodies = []
    for i in range(n_bodies):
        mass = rng.uniform(0.2, 5.0)
        body = {
            'name': f'body{i}',
            'joint': f'joint{i}',
            'parent': i - 1 if serial or i == 0 else int(rng.integers(0 if floating else -1, i)),
            'type': 'floating' if floating and i == 0 else str(rng.choice(kinds)),
            'placement': random_pose(rng),
            'mass': mass,
            'com': rng.normal(scale=0.1, size=3),
            'inertia': random_inertia(rng, mass),
        }
        if body['type'] != 'floating':
            axis = rng.normal(size=3)
            body |= {'axis': axis / np.linalg.norm(axis), 'point': rng.normal(scale=0.1, size=3)}
        if body['type'] == 'helical':
            body['pitch'] = rng.uniform(-0.1, 0.1)
        bodies.append(body)
    gravity = 9.81 * random_rotation(rng)[2]
    if coupled:
        couple(rng, [body for body in bodies if body['type'] != 'floating'])
    return {'name': 'random', 'gravity': gravity, 'bodies': bodies}


def couple(rng, bodies):
    """Let about half of the joints, but one at least not, follow others before or after them."""
    order = rng.permutation(len(bodies))
    for place, i in enumerate(order):
        if place and rng.random() < 0.5:
            bodies[i]['mimic'] = {
                'joint': bodies[order[rng.integers(place)]]['joint'],
                'multiplier': float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5)),
                'offset': rng.normal(scale=0.5)}


def random_robot(rng, n_bodies, kinds=KINDS, floating=False, serial=True, coupled=False):
    """Return a random robot; `n_bodies` counts the floating base."""
    return load_robot(random_mapping(rng, n_bodies, kinds, floating, serial, coupled))


def random_motion(rng, robot, order):
    """Return q (order + 3, n), each derivative of the size of one."""
    return rng.normal(size=(order + 3, robot.n))


def random_base_motion(rng, order):
    """Return base_pose (4, 4) and base_twist (order + 2, 6)."""
    return random_pose(rng, 1.0), rng.normal(size=(order + 2, 6))


def is_regular(robot, motion, link, joints=slice(None), largest=50):
    """Return whether these joints alone move a link in any direction: the Jacobian's condition."""
    return np.linalg.cond(jacobian(robot, motion, link)[0][:, joints]) < largest


def regular(rng, robot, link, rows=1, largest=50):
    """Return random positions, and derivatives (rows, n), that are far from singular."""
    for motion in rng.normal(size=(1000, rows, robot.n)):
        if is_regular(robot, motion, link, largest=largest):
            return motion
    raise AssertionError('never regular')


def taylor(derivatives, t):
    """Return the derivatives at time t of the polynomial with these derivatives at time 0."""
    derivatives = np.asarray(derivatives)
    order = len(derivatives)
    return np.array([
        sum(derivatives[k + i] * t**i / math.factorial(i) for i in range(order - k))
        for k in range(order)])


def assert_close(actual, expected, tolerance):
    """Compare derivatives, each order against max(1, its largest expected component)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    for k, (a, e) in enumerate(zip(actual, expected, strict=True)):
        scale = max(1.0, np.abs(e).max(initial=0.0))
        error = np.abs(a - e).max(initial=0.0) / scale
        assert error <= tolerance, f'order {k}: {error:.2e} of {scale:.3g}'
