"""Descriptions of small robots: elements of a URDF, whole ones, and what loading them says."""
import warnings

import numpy as np
from rigid_bodies import link

from hodyn_ros import load_robot, save_robot
from hodyn_ros.robot import lie


def said(function, *arguments, **options):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        function(*arguments, **options)
    return [str(warning.message) for warning in caught]


def saved(robot, path, **options):
    """Return a robot as it is read from the file in which it was saved."""
    save_robot(robot, path, force=True)
    return load_robot(path, **options)


AXES = {'revolute': [0.0, 0.0, 1.0], 'prismatic': [1.0, 0.0, 0.0]}


def chain(*kinds, limits=None):
    """Return the keys of an arm whose joints are 0.5 m from one to the next, of 1 kg at 0.2 m."""
    return {'name': 'arm', 'bodies': [{
        'name': f'link{i}', 'parent': i - 1, 'type': kind, 'axis': AXES[kind],
        'placement': [[1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0],
                      [0.0, 0.0, 0.0, 1.0]],
        'mass': 1.0, 'com': [0.2, 0.0, 0.0],
        'inertia': [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]],
    } for i, kind in enumerate(kinds)], **({} if limits is None else {'limits': limits})}


def mapping(size=1.0, mass=2.0, *, masses=1.0, com=1.0, inertia=1.0, ranges=1.0, **more):
    """Return an arm of three links of this size, m, and mass, kg, with factors of wrong units."""
    placement = lie.pose(None, [0.0, 0.0, 0.4 * size])
    tensor = inertia * mass * (0.1 * size) ** 2 * np.diag([1.0, 1.0, 0.5])
    bodies = [link(
        f'l{i}', i - 1, joint=f'j{i}', placement=placement.tolist(), axis=[0, i % 2, 1 - i % 2],
        mass=masses * mass, com=[0.0, 0.0, 0.2 * size * com], inertia=tensor.tolist(),
    ) for i in range(3)]
    ends = [[-2.0 * ranges, 2.0 * ranges] for _ in range(3)]
    return {'name': 'arm', 'bodies': bodies, 'limits': {'position': ends}, **more}


def tag(element, /, **attributes):
    """Return an empty element; an attribute that is None is left out."""
    return f'<{element}' + ''.join(
        f' {key}="{value}"' for key, value in attributes.items() if value is not None) + '/>'


def limit(lower=-1, upper=2, velocity=3, effort=40, **more):
    return tag('limit', lower=lower, upper=upper, velocity=velocity, effort=effort, **more)


def inertial(mass=2, ixx=0.02, iyy=0.03, izz=0.025, origin='xyz="0.1 0 0.02"'):
    return f'<inertial><origin {origin}/>{tag("mass", value=mass)}' + tag(
        'inertia', ixx=ixx, ixy=0, ixz=0, iyy=iyy, iyz=0, izz=izz) + '</inertial>'


LIMIT, WIDE, INERTIAL = limit(), limit(-9, 9, 9, 9), inertial()


def joined_link(
        name, parent='base', kind='revolute', inside=WIDE, *, joint=None, inertial=INERTIAL,
        origin='xyz="0 0.1 0.3" rpy="0.5 0 0"', axis='0 2 1'):
    """Return a link with the joint to its parent: of l1 by default j1, of hand jhand."""
    return (
        f'<link name="{name}">{inertial}</link>'
        f'<joint name="{joint or "j" + name.removeprefix("l")}" type="{kind}"><origin {origin}/>'
        f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{axis}"/>{inside}</joint>')


def urdf(*parts, name='arm', base='<link name="base"/>', version='1.0'):
    return f'<robot name="{name}" version="{version}">{base}{"".join(parts)}</robot>'


ONE_JOINT = urdf(joined_link('l1', inside=LIMIT))
