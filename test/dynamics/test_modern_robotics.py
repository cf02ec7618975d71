"""The recursion and the 2R arm of MR9, with the corrections that docs/theory.md lists.

MR9 is a draft's chapter 9; in the published book dynamics is chapter 8. Each correction is tried
the other way round too: what is printed does not give the torques.
"""
import numpy as np
import pytest
from random_robots import assert_close, random_motion, random_robot
from rigid_bodies import screw

from benchmarks import planar_arm
import hodyn_ros as hd
from hodyn_ros.robot import lie

MISPRINTS = ('frame of the axis', 'frame of the twist', 'sign of gravity')


def recursion(robot, q, misprint=None):
    """Return τ by (9.49)–(9.53), (9.54), (9.58), (9.56) and (9.57), frames at the COM."""
    n = robot.n
    home, screws, place = [], [], np.eye(4)
    for body in robot.bodies:
        place = place @ body.placement
        screws.append(lie.adjoint(place) @ screw(body))
        home.append(place @ lie.pose(None, body.com))
    twist, acceleration = np.zeros(6), np.concatenate([np.zeros(3), -robot.gravity])
    if misprint == 'sign of gravity':
        acceleration = -acceleration
    axes, down, forces = [], [], []
    for i, body in enumerate(robot.bodies):
        of = home[i - 1] if misprint == 'frame of the axis' and i else home[i]
        axis = lie.adjoint(lie.inverse(of)) @ screws[i]  # (9.51)
        before = home[i - 1] if i else np.eye(4)
        step = lie.inverse(before) @ home[i] @ lie.exp(axis * q[0, i])  # (9.53)
        up = lie.adjoint(lie.inverse(step))
        carried = lie.adjoint(step) if misprint == 'frame of the twist' else up
        acceleration = (  # (9.58)
            up @ acceleration + lie.ad(carried @ twist) @ axis * q[1, i] + axis * q[2, i])
        twist = up @ twist + axis * q[1, i]
        inertia = np.zeros((6, 6))
        inertia[:3, :3], inertia[3:, 3:] = body.inertia, body.mass * np.eye(3)
        axes.append(axis)
        down.append(up.T)
        forces.append(inertia @ acceleration - lie.ad(twist).T @ inertia @ twist)
    for i in range(n - 1, 0, -1):
        forces[i - 1] += down[i] @ forces[i]
    return np.array([axis @ force for axis, force in zip(axes, forces, strict=True)])


@pytest.mark.parametrize('seed', range(3))
def test_the_corrected_recursion_gives_the_torques(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5)
    q = random_motion(rng, robot, 0)
    expected = hd.inverse_dynamics(robot, q)
    assert_close([recursion(robot, q)], expected, 1e-12)
    for misprint in MISPRINTS:
        assert np.abs(recursion(robot, q, misprint) - expected).max() > 1e-3, misprint


def test_the_corrected_equations_of_the_planar_arm():
    """The equations after (9.8) of the arm with point masses, and what is printed there."""
    motions = np.random.default_rng(0).normal(size=(20, 3, 2))
    expected = hd.inverse_dynamics(planar_arm.arm(), motions)[:, 0]
    assert_close([planar_arm.torques(motion) for motion in motions], expected, 1e-13)
    printed = np.array([planar_arm.printed_torques(motion) for motion in motions])
    assert (np.abs(printed - expected) > 1e-6).all()
