"""Robots with spherical joints, and rotations of these, for tests."""
import numpy as np
from random_robots import random_mapping, random_rotation

import hodyn_ros as hd
from hodyn_ros.robot import lie

NAMES = ('joint1', 'joint3')
QUARTER = lie.rotation_y(0.5 * np.pi)
HALF = lie.rotation_exp([0.0, 0.6 * np.pi, 0.8 * np.pi])


def with_balls(rng, floating=False, serial=False):
    """Return a random tree of five bodies, the second and fourth on spherical joints."""
    mapping = random_mapping(rng, 5, floating=floating, serial=serial)
    for i in (1, 3):
        del mapping['bodies'][i]['axis']
        mapping['bodies'][i].pop('pitch', None)
        mapping['bodies'][i]['type'] = 'spherical'
    return hd.load_robot(mapping)


def some_rotations(rng, count=None):
    shape = () if count is None else (count,)
    return {name: np.array([random_rotation(rng) for _ in range(count or 1)]).reshape(*shape, 3, 3)
            for name in NAMES}


def ball(point=(0.0, 0.0, 0.0)):
    """Return one body on a spherical joint."""
    return hd.load_robot({'name': 'ball', 'gravity': [0.5, -1.0, -9.0], 'bodies': [{
        'name': 'ball', 'parent': -1, 'type': 'spherical', 'point': point,
        'placement': lie.pose(lie.rotation_x(0.4), [0.1, 0.2, 0.3]), 'mass': 2.0,
        'com': [0.05, -0.1, 0.2],
        'inertia': [[0.03, 0.002, 0.001], [0.002, 0.04, 0.003], [0.001, 0.003, 0.02]]}]})
