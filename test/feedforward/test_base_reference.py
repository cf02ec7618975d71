"""A planned motion of a base: the accelerations that it gives, and when it is followed."""
from controllers import MS, AtHome, still
import numpy as np
import pytest
from supervised import FADE, HOME, SHIP, SHIP_MODEL, Swell, World, running

import hodyn_ros as hd
from hodyn_ros.feedforward.moving_base import FollowedBase
from hodyn_ros.plans.base_plan import base_plan
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot import lie

TIMES = np.linspace(0.0, 5.0, 11)
ELSEWHERE = np.array([20.0, -5.0, 3.0])


def sway(times):
    """Return poses of a deck that rolls, pitches and heaves, from rest to rest."""
    size = np.sin(np.pi * times / times[-1]) ** 2
    return np.array([
        lie.pose(lie.rotation_exp([0.2 * a * np.sin(1.6 * t), 0.1 * a * np.sin(2.1 * t), 0.7]),
                 ELSEWHERE + a * np.array([np.sin(0.5 * t), 0.0, 0.8 * np.sin(1.6 * t)]))
        for t, a in zip(times, size, strict=True)])


POSES = sway(TIMES)
PLAN = hd.fit_pose_plan(TIMES, POSES)


class Cruise:
    """A deck that moves as planned from `begin` on, up to what it is `off`."""

    def __init__(self):
        self.begin, self.off, self.noise = np.inf, np.zeros(6), 0.0
        self.rng = np.random.default_rng(0)

    def planned(self, at):
        """Return pose and hybrid twist with derivatives, as planned."""
        poses = PLAN.evaluate(np.clip(at - self.begin, -1.0, 100.0))
        return poses[0], hd.pose_twist(poses, representation='hybrid')

    def motion(self, at):
        pose, twist = self.planned(at)
        rotation = lie.rotation_exp(self.off[:3]) @ pose[:3, :3]
        noise = self.noise * self.rng.normal(size=3)
        return (
            lie.pose(rotation, pose[:3, 3] + self.off[3:]),
            rotation.T @ twist[0, 3:] + noise, rotation.T @ twist[0, :3])


def cruise(**options):
    return running(deck=Cruise(), **options)


def start(world, *, sail=0.0, is_planned=True, **options):
    """Let the deck begin to move, and say so."""
    world.deck.begin = world.at
    if is_planned:
        world.plan_base(TIMES, POSES, **options)
    world.sail(sail)


def mode(world):
    return world.supervisor.statistics()['base trajectory']


def holding(world):
    """Return the torque that holds the arm on the moving deck, (3, 7)."""
    pose, twist = world.deck.planned(world.at)
    spatial = hd.pose_twist(hd.pose_derivatives(pose, twist, representation='hybrid'))
    return hd.inverse_dynamics(SHIP, still(HOME), base_pose=pose, base_twist=spatial)[0]


def errors_of_torque(world, seconds, tolerance=None):
    """Let a time pass; return what the torque is off, and see that it is within a tolerance."""
    world.sail(seconds)
    errors = world.controller.torque[0] - holding(world)[0]
    assert tolerance is None or np.abs(errors).max() <= tolerance
    return errors


def test_the_torque_is_that_of_the_library_with_exact_derivatives():
    """Also of an arm that moves on another link's poses, and whatever time was left out."""
    rng = np.random.default_rng(3)
    placement = lie.pose(lie.rotation_exp(rng.normal(size=3)), rng.normal(size=3))
    turns = np.array([lie.quaternion(pose[:3, :3]) for pose in POSES])
    table = base_plan(TIMES, POSES[:, :3, 3], turns, placement)
    followed = FollowedBase(table, 5_000_000_000)
    followed.ahead = 5_100_000_000
    controller = AtHome(SHIP_MODEL, friction_in_output=False, fade=FADE)
    controller.reference.follow(fit_plan([0.0, 6.0], [HOME, HOME + 0.3]), 500_000_000)
    controller.follow_base(followed)
    errors, sizes = [], []
    for now in range(0, 4800 * MS, 2 * MS):
        if now % 20_000_000:
            controller.evaluate(now)
            continue
        pose = PLAN.evaluate((now + 100_000_000) * 1e-9) @ lie.inverse(placement)
        hybrid = hd.pose_twist(pose, representation='hybrid')
        # The odometry agrees, and comes at another time than the joint states.
        early = PLAN.evaluate((now + 97_000_000) * 1e-9) @ lie.inverse(placement)
        followed.correct(
            now + 5_097_000_000, early[0, :3, :3], early[0, :3, 3],
            hd.pose_twist(early, representation='hybrid')[0])
        controller.set_base(pose[0, :3, :3], hybrid)
        controller.evaluate(now)
        twist = hd.pose_twist(
            hd.pose_derivatives(pose[0], hybrid, representation='hybrid'))
        expected, wrench = hd.inverse_dynamics(
            SHIP, controller.q, base_pose=pose[0], base_twist=twist)
        expected = np.hstack([expected, hd.body_wrench(pose[0], twist[:2], wrench)])
        found = np.hstack([controller.output, controller.base_wrench])
        if now > 1_500_000_000:
            errors.append(np.abs(found - expected).max(axis=1))
            sizes.append(np.abs(expected).max(axis=1))
    relative = np.max(errors, axis=0) / np.max(sizes, axis=0)
    assert (relative < [1e-10, 1e-9, 1e-8]).all(), relative
    assert np.max(sizes, axis=0)[1] > 50.0


@pytest.mark.parametrize('noise', [0.0, 5e-3])
def test_a_planned_sway_is_not_late_and_has_no_noise_of_the_odometry(noise):
    """The torque is that of the library; without the plan it is late, or noisy."""
    found = []
    for is_planned in (False, True):
        world = cruise(bandwidth=30.0)
        world.deck.noise = noise
        start(world, sail=1.5, is_planned=is_planned)
        found.append([errors_of_torque(world, 0.06) for _ in range(50)])
    late, planned = np.array(found)
    if noise:
        assert np.sqrt(np.mean(planned**2)) < 0.01 * np.sqrt(np.mean(late**2))
    else:
        assert np.abs(late).max() > 0.5
        assert np.abs(planned).max() < 1e-10 * np.abs(holding(world)[0]).max()


def test_it_begins_and_ends_with_what_the_base_does():
    world = cruise(bandwidth=10.0)
    start(world, sail=0.1)
    assert mode(world) == 'followed'
    assert world.said('base trajectory accepted: 5.000 s') == 1
    assert world.said('the base trajectory is followed: its accelerations are used') == 1
    world.sail(4.8)
    assert mode(world) == 'followed'
    world.sail(0.3)
    assert mode(world) == 'none'
    assert world.said('the base trajectory has ended: accelerations of the base are estim') == 1
    world.sail(1.5)
    np.testing.assert_allclose(world.published, holding(world)[0], atol=1e-6)
    assert world.report == ('holding', '')


@pytest.mark.parametrize('wait', [0.5, -0.5])
def test_its_stamp_is_when_it_starts(wait):
    """A trajectory that has begun is joined where the base is."""
    world = cruise()
    world.deck.begin = world.at + wait
    if wait < 0.0:
        world.sail(0.1)
    world.plan_base(TIMES, POSES, stamp=round(world.deck.begin * 1e9))
    world.sail(0.3)
    assert mode(world) == ('waiting' if wait > 0.0 else 'followed')
    assert world.said('it starts in 0.5 s') == (wait > 0.0)
    world.sail(0.3)
    assert mode(world) == 'followed'
    errors_of_torque(world, 1.0, 1e-9)


@pytest.mark.parametrize(('off', 'said'), [
    ([0.1, 0.0, 0.0, 0.0, 0.0, 0.0], 'its orientation is 0.1 rad away (base_tolerance 0.05)'),
    ([0.0, 0.0, 0.0, 0.0, 0.3, 0.0], 'its position is 0.3 m away (base_tolerance 0.1)'),
])
def test_a_base_elsewhere_is_not_followed_and_one_that_leaves_no_longer(off, said):
    world = cruise(bandwidth=10.0)
    world.deck.off[:] = off
    world.sail(0.1)
    start(world, sail=0.1)
    assert mode(world) == 'none'
    assert world.said(f'the base is elsewhere: {said}') == 1
    world = cruise(bandwidth=10.0)
    start(world, sail=1.0)
    for k in range(51):
        world.deck.off[:] = 0.02 * k * np.array(off)
        world.state()
    world.sail(0.1)
    assert mode(world) == 'none'
    assert world.said('the base left its trajectory: its') == 1
    assert world.said('accelerations of the base are estimated from odom again') == 1


def test_a_deviation_within_the_tolerances_corrects_the_pose():
    world = cruise()
    start(world)
    world.deck.off[:3] = 0.03, 0.0, 0.0
    world.sail(6.0)
    assert world.said('left its trajectory') == 0
    tilted = lie.pose(world.tilt)
    wanted = hd.inverse_dynamics(
        SHIP, still(HOME), base_pose=tilted, base_twist=np.zeros((4, 6)))[0]
    assert np.abs(wanted[0] - holding(world)[0]).max() > 0.5
    np.testing.assert_allclose(world.published, wanted[0], atol=1e-6)


def test_an_empty_one_cancels_what_is_followed_and_what_waits():
    world = cruise()
    start(world, sail=0.5)
    world.plan_base([], [])
    assert mode(world) == 'none'
    world.sail(0.1)
    assert world.said('given up: an empty base trajectory came: accelerations of the base are '
                      'taken to be 0 again') == 1
    world.plan_base(TIMES, POSES, stamp=round((world.at + 5.0) * 1e9))
    world.sail(0.1)
    assert mode(world) == 'waiting'
    world.plan_base([], [], frame='', names=())
    assert mode(world) == 'none'
    world.sail(5.5)
    assert world.said('is followed') == 1


def test_a_newer_one_takes_its_place_when_it_starts_and_if_it_agrees():
    world = cruise()
    start(world, sail=1.0)
    begin = round(world.deck.begin * 1e9)
    world.plan_base(TIMES, POSES[::-1], stamp=begin)
    world.sail(0.1)
    assert world.said('the base is elsewhere') == 1
    assert mode(world) == 'followed'
    world.plan_base(TIMES, POSES, stamp=begin)
    world.sail(0.1)
    assert world.said('is followed, instead of the last one') == 1
    errors_of_torque(world, 1.0, 1e-9)


@pytest.mark.parametrize(('happens', 'seconds', 'said'), [
    (lambda world: setattr(world, 'is_measured', False), 1.5, 'the odometry of the base is lost'),
    (lambda world: setattr(world, 'offset', -3_600_000_000_000), 1.0, 'the clock was set back'),
    (lambda world: world.end(), 0.0, 'the node is deactivated'),
])
def test_lost_odometry_a_clock_set_back_and_the_end_give_it_up(happens, seconds, said):
    world = cruise()
    start(world, sail=1.0)
    assert mode(world) == 'followed'
    happens(world)
    world.sail(seconds)
    assert mode(world) == 'none'
    assert world.said(f'the base trajectory is given up: {said}') == 1
    if not world.is_measured:  # when odometry comes back, the plan may come again
        world.is_measured = True
        world.sail(1.0)
        world.plan_base(TIMES, POSES, stamp=round(world.deck.begin * 1e9))
        world.sail(1.0)
        assert mode(world) == 'followed'


def test_time_that_is_left_out_is_not_time_of_the_base():
    world = cruise()
    start(world, sail=1.5)
    world.pass_time(0.4, watched=False)
    errors_of_torque(world, 1.0, 1e-9)
    assert world.supervisor.clock.left_out > 300_000_000
    assert mode(world) == 'followed'


@pytest.mark.parametrize(('wrong', 'said'), [
    ({'frame': 'map'}, "its frame_id is 'map', and that of the odometry 'odom'"),
    ({'names': ()}, 'it has 0 joint_names; expected one'),
    ({'names': ('deck', 'arm')}, 'it has 2 joint_names; expected one'),
    ({'names': ('mast',)}, "its joint_names[0] 'mast' is not a link of the base of robot 'panda'"),
    ({'stamp': 1_700_000_000_000}, 'header.stamp is 700 s ahead of the joint states'),
])
def test_what_cannot_be_of_the_base_is_refused_at_once(wrong, said):
    world = cruise()
    with pytest.raises(hd.HodynError) as error:
        start(world, **wrong)
    assert said in str(error.value)
    assert '\n' not in str(error.value)
    assert mode(world) == 'none'


@pytest.mark.parametrize(('times', 'poses', 'stamp', 'said'), [
    (TIMES[:1], POSES[:1], 0, 'a motion of the base needs at least two poses, got 1'),
    ([0.0, 0.0], POSES[:2], 0, 'times'),
    ([1.0, 0.5], POSES[:2], 0, 'times'),
    ([0.0, 1.0], POSES[:2], 1_000_000_000, 'it ends in the past: its last point was due'),
    ([0.0, 4000.0], POSES[:2], 0, 'it takes 4000 s; the longest is 3600 s'),
    ([0.0, 0.01], POSES[[0, 4]], 0, 'velocity is'),
    ([0.0, 0.3], [POSES[0], POSES[0] @ lie.pose(position=[1.0, 0.0, 0.0])], 0,
     'its acceleration is 10'),
    ([0.0, 1.0], [POSES[0], POSES[0] @ lie.pose(lie.rotation_x(np.pi))], 0, 'half a turn apart'),
    ([0.0, 0.4], [POSES[0], POSES[0] @ lie.pose(lie.rotation_x(2.0))], 0,
     'its angular acceleration is'),
])
def test_poses_that_no_base_can_follow_are_refused(times, poses, stamp, said):
    world = cruise()
    world.plan_base(times, poses, stamp=stamp)
    world.sail(0.1)
    assert mode(world) == 'none'
    assert world.said(said) == 1, world.logged


@pytest.mark.parametrize(('options', 'said'), [
    ({'deck': Swell()}, 'no joint state yet'), ({}, "the base of robot 'panda' is fixed")])
def test_without_odometry_or_a_floating_base_none_is_taken(options, said):
    with pytest.raises(hd.HodynError, match=said):
        World(**options).plan_base(TIMES, POSES)
