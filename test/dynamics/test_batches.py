"""Every function takes a batch of motions, and finds what it finds for them one by one."""
import numpy as np
import pytest
from random_robots import random_base_motion, random_robot

import hodyn_ros as hd

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')
LINK = 'body7'
ROUNDED = 1e-13
"""Where sums have another order in registers or in numpy's products; else all bits agree."""


class Motion:
    """A motion of order 2, or a batch: q (…, 5, n), wrenches (…, 3, n_bodies, 6), and the base."""

    def __init__(self, robot, q, wrenches, pose, twist):
        self.robot, self.q, self.wrenches, self.pose, self.twist = robot, q, wrenches, pose, twist

    def part(self, t):
        return Motion(self.robot, self.q[t], self.wrenches[t], self.pose[t], self.twist[t])

    def rows(self, count):
        """Return robot and so many rows of q, and the motion of the base that goes with them."""
        base = {'base_pose': self.pose, 'base_twist': self.twist[..., :count - 1, :]}
        return (self.robot, self.q[..., :count, :]), base if self.robot.floating else {}

    def acting(self):
        return {'external_wrenches': self.wrenches}


def of_motion(function, rows, pushed=False, **options):
    def call(motion):
        given, base = motion.rows(rows)
        return function(*given, **base, **(motion.acting() if pushed else {}), **options)
    return call


def of_efforts(function, *others):
    def call(motion):
        given, base = motion.rows(2)
        if base:
            base['base_wrench'] = motion.twist[..., 1:, :]
        return function(*given, motion.q[..., 2:, :], *others, **base, **motion.acting())
    return call


ANY_BASE = {
    **{f'inverse dynamics, {name}': (of_motion(
        hd.inverse_dynamics, 5, True, formulation=name), ROUNDED)
       for name in ('spatial', 'body_fixed')},
    'without wrenches': (of_motion(hd.inverse_dynamics, 5), ROUNDED),
    'derivatives': (of_motion(hd.inverse_dynamics_derivatives, 5, True), 0.0),
    'equations of motion': (of_motion(hd.equations_of_motion, 4), 0.0),
    'forward dynamics': (of_efforts(hd.forward_dynamics), 0.0),
    'hybrid dynamics': (of_efforts(hd.hybrid_dynamics, ['joint1']), 0.0),
    'its derivatives': (of_efforts(hd.forward_dynamics_derivatives), ROUNDED),
    **{f'wrenches, {name}': (of_motion(hd.joint_wrenches, 5, True, frame=name), 0.0)
       for name in ('body', 'joint', 'world')},
    'weights': (of_motion(hd.gravity_wrenches, 4), 0.0),
    'efforts': (lambda motion: hd.external_efforts(
        *motion.rows(3)[0], motion.wrenches, **motion.rows(3)[1]), 0.0),
    'centre of mass': (of_motion(hd.center_of_mass, 4), 0.0),
    'momentum': (of_motion(hd.momentum, 4), 0.0),
    'energy': (of_motion(hd.energy, 4), 0.0),
    'torque regressor': (of_motion(hd.torque_regressor, 5), ROUNDED),
    'momentum regressor': (of_motion(hd.momentum_regressor, 4), ROUNDED),
    **{f'bodies, {name}': (of_motion(hd.forward_kinematics, 4, representation=name), 0.0)
       for name in REPRESENTATIONS},
    **{f'jacobian, {name}': (of_motion(hd.jacobian, 4, link=LINK, representation=name), 0.0)
       for name in REPRESENTATIONS},
    'wrench on a link': (lambda motion: hd.link_wrench(
        motion.robot, LINK, motion.wrenches[..., 0, :]), ROUNDED),
    'wrench in the world': (lambda motion: hd.world_wrench(
        motion.pose, motion.twist[..., :2, :], motion.wrenches[..., 0, :]), ROUNDED),
    'wrench on the body': (lambda motion: hd.body_wrench(
        motion.pose, motion.twist[..., :2, :], motion.wrenches[..., 0, :]), ROUNDED),
}
FIXED_BASE = {
    'closed form': (of_motion(hd.inverse_dynamics, 5, formulation='closed_form'), 0.0),
    'joints from a link': (lambda motion: hd.inverse_kinematics(
        motion.robot, motion.q[..., 0, :], motion.twist, LINK), 0.0),
    'with a given joint': (lambda motion: hd.inverse_kinematics(
        motion.robot, motion.q[..., 0, :], motion.twist, LINK,
        prescribed={'joint1': motion.twist[..., 0]}), 0.0),
}


@pytest.mark.parametrize(('name', 'floating', 'coupled'), [
    *((name, floating, coupled) for name in ANY_BASE for floating in (False, True)
      for coupled in (False, True)),
    *((name, False, False) for name in FIXED_BASE)])
def test_a_batch_is_its_motions_one_by_one(name, floating, coupled):
    call, tolerance = {**ANY_BASE, **FIXED_BASE}[name]
    if coupled and name in ('forward dynamics', 'hybrid dynamics'):
        tolerance = ROUNDED  # numpy solves the equations of motion
    rng = np.random.default_rng(5)
    robot = random_robot(rng, 8, floating=floating, coupled=coupled, serial=name in FIXED_BASE)
    poses, twists = zip(*(random_base_motion(rng, 2) for _ in range(3)), strict=True)
    batch = Motion(
        robot, rng.normal(size=(3, 5, robot.n)), rng.normal(size=(3, 3, 8, 6)), np.array(poses),
        np.array(twists))

    def found(motion):
        result = call(motion)
        return result if isinstance(result, tuple) else (result,)

    together, nothing = found(batch), found(batch.part(slice(0)))
    for t in range(3):
        for whole, none, one in zip(together, nothing, found(batch.part(t)), strict=True):
            assert none.shape == (0, *one.shape)
            np.testing.assert_allclose(
                whole[t], one, rtol=0.0, atol=tolerance * max(1.0, np.abs(one).max()))
