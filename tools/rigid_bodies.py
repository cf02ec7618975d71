"""Single bodies: mappings and robots of them, their screws and inertia, for tests."""
import numpy as np

import hodyn_ros as hd
from hodyn_ros.robot import lie


def link(name, parent=-1, kind='revolute', **keys):
    """Return the mapping of one body, 0.3 m beside the y axis of its joint, which j… names."""
    axis = {} if kind in ('fixed', 'floating', 'spherical') else {'axis': [0.0, 1.0, 0.0]}
    return {'name': name, 'joint': f'j{name}', 'parent': parent, 'type': kind, 'mass': 1.0,
            'placement': np.eye(4).tolist(), 'com': [0.3, 0.0, 0.0],
            'inertia': (0.01 * np.eye(3)).tolist(), **axis, **keys}


def chain(n, **keys):
    """Return the mapping of an arm of n such bodies, on joints j0, j1, …"""
    return {'name': 'arm', 'bodies': [link(f'{i}', i - 1) for i in range(n)], **keys}


def one_body(kind, mass=2.0, com=(0.0, 0.0, 0.0), inertia=1.0, **keys):
    """Return a robot of one body at the origin, `body`, on a joint of a kind."""
    gravity = {'gravity': keys.pop('gravity')} if 'gravity' in keys else {}
    return hd.load_robot({'name': 'one', **gravity, 'bodies': [link(
        'body', kind=kind, mass=mass, com=com, inertia=inertia * np.eye(3), **keys)]})


def screw(body):
    """Return the joint's screw (6,) in the body's frame."""
    if body.type == 'prismatic':
        return np.concatenate([np.zeros(3), body.axis])
    return np.concatenate([
        body.axis, np.cross(body.point, body.axis) + body.pitch * body.axis])


def mass_matrix(body):
    """Return the body's mass matrix (6, 6) in its frame, the inertia about its COM."""
    offset = body.mass * lie.skew(body.com)
    return np.block([
        [body.inertia - offset @ lie.skew(body.com), offset], [-offset, body.mass * np.eye(3)]])
