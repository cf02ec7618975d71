"""An arm on a base that moves: its torques and the wrench on the base."""
from dataclasses import replace

from controllers import MS, AtHome, limited
import numpy as np
import pytest
from supervised import (
    FADE,
    HOME,
    PERIOD,
    SHIP,
    SHIP_MODEL,
    Swell,
    World,
    held,
    running,
)

import hodyn_ros as hd
from hodyn_ros.feedforward.moving_base import BaseMotion, feedforward_of
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot import lie


def moving(rng):
    """Return a rotation and a hybrid twist with its derivatives."""
    return lie.rotation_exp(rng.normal(size=3)), rng.normal(size=(4, 6))


@pytest.mark.parametrize('robot', [SHIP, hd.load_robot('aerial_manipulator')])
@pytest.mark.parametrize('seed', range(3))
def test_the_torque_and_the_wrench_are_those_of_the_library(robot, seed):
    rng = np.random.default_rng(seed)
    feedforward = feedforward_of(robot)
    q, (rotation, hybrid) = rng.normal(size=(5, robot.n)), moving(rng)
    base = BaseMotion()
    base.move(rotation, hybrid)
    out = np.empty((3, feedforward.columns))
    feedforward.on_base(q, base, out, friction=False)
    # Anywhere in the world, and at any velocity of it.
    pose = lie.pose(rotation, rng.normal(size=3) * 3.0)
    twist = hd.pose_twist(hd.pose_derivatives(pose, hybrid, representation='hybrid'))
    torque, wrench = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    if robot.rotor_inertia is not None:
        torque += robot.rotor_inertia * q[2:]
    expected = np.hstack([torque, hd.body_wrench(pose, twist[:2], wrench)])
    np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_an_even_velocity_of_the_base_changes_no_digit():
    rng = np.random.default_rng(7)
    q, (rotation, hybrid) = rng.normal(size=(5, 7)), moving(rng)
    results = []
    for velocity in (0.0, 1e4):
        hybrid[0, 3:] = velocity
        base = BaseMotion()
        base.move(rotation, hybrid)
        results.append(SHIP_MODEL.on_base(q, base, np.empty((3, 13))))
    np.testing.assert_array_equal(*results)


def test_at_rest_it_is_the_arm_on_a_base_that_is_fixed_so():
    rng = np.random.default_rng(1)
    feedforward = feedforward_of(SHIP)
    feedforward.resting.rest(moving(rng)[0])
    held = hd.FeedForward(feedforward.planned_robot)
    assert not held.robot.floating
    q = rng.normal(size=(5, 5, 7))
    np.testing.assert_allclose(feedforward.torque(q), held.torque(q), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(
        feedforward.torque(q, gravity=False), held.torque(q, gravity=False), rtol=0.0, atol=1e-10)
    assert np.abs(held.torque(q) - hd.FeedForward(hd.load_robot('panda')).torque(q)).max() > 1.0


STRAY = replace(SHIP.bodies[-1], name='buoy', joint='chain', parent=-1)


@pytest.mark.parametrize(('make', 'robot', 'said'), [
    (hd.FeedForward, SHIP, r'has a floating base, .* or the node'),
    (hd.FeedForward, hd.load_robot('aerial_manipulator'),
     "'aerial_manipulator' has a floating base"),
    (feedforward_of, replace(SHIP, bodies=(*SHIP.bodies[:-1], STRAY)),
     "'buoy' is not carried by the floating base 'deck'"),
])
def test_bases_that_move_are_refused_elsewhere_and_bodies_beside_them(make, robot, said):
    with pytest.raises(hd.HodynError, match=said):
        make(robot)


@pytest.mark.parametrize('gravity', [True, False])
def test_what_is_published_goes_over_to_the_measured_base(gravity):
    """A base that is tilted, and one that turns evenly and is accelerated."""
    rng = np.random.default_rng(3)
    feedforward = feedforward_of(replace(SHIP, friction=None))
    controller = AtHome(feedforward, gravity_in_output=gravity, fade=0.2)
    rotation = lie.rotation_exp([0.3, -0.2, 1.0])
    hybrid = np.zeros((4, 6))
    hybrid[:2] = 0.3 * rng.normal(size=(2, 6))
    controller.set_base(rotation, hybrid)
    begin = controller.output.copy()
    controller.run(1500 * MS)
    expected = held(HOME, rotation, hybrid, model=feedforward, gravity=gravity)
    assert np.abs(controller.output[0] - begin[0]).max() > 0.5
    np.testing.assert_allclose(controller.output[0], expected[0, :7], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(controller.base_wrench[0], expected[0, 7:], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(controller.output[1:], 0.0, atol=1e-7)


def ship(**options):
    """Return a world on a ship whose node runs."""
    return running(deck=Swell(), **options)


def test_without_odometry_nothing_is_published():
    world = World(deck=Swell())
    world.is_measured = False
    for _ in range(20):
        assert not world.state()
    assert world.report == (
        'waiting', 'for the base: no odometry yet, so its tilt is unknown')
    world.is_measured = True
    world.states(10)
    assert world.supervisor.state is State.RUNNING


def test_lost_odometry_stops_and_holds_with_the_last_tilt():
    world = ship()
    world.deck.sea = 1.0
    world.states(300)
    supervisor = world.supervisor
    world.plan(b'0.3')
    world.states(50)
    assert world.report[0] == 'following'
    world.is_measured = False
    seen = []
    for _ in range(400):
        assert world.state()  # it goes on being published
        if seen[-1:] != [world.report]:
            seen.append(world.report)
    assert seen == [
        ('following', ''), ('stopping', 'the odometry of the base is lost'),
        ('fault', 'the odometry of the base is lost')]
    assert world.said('no odometry of the base for 0.0')
    with pytest.raises(hd.HodynError, match='the odometry of the base is lost'):
        world.plan(b'0.1')
    expected = held(supervisor.controller.q[0], supervisor.base.rotation)
    np.testing.assert_allclose(supervisor.controller.output[0], expected[0, :7], atol=1e-6)
    world.is_measured = True
    world.states(10)
    assert world.report == ('holding', 'the odometry of the base was lost')
    world.plan(b'0.1')


def test_joint_states_that_are_lost_too_are_said_and_both_come_back():
    world = ship()
    world.is_measured = False
    world.states(60)
    assert world.supervisor.state is State.ADRIFT
    world.pass_time(1.0)
    assert world.report == ('fault', 'joint states are lost')
    world.settle()
    assert world.report[0] == 'holding'


def test_at_the_end_the_output_is_the_weight_on_the_base_as_it_was():
    world = ship()
    world.deck.sea = 1.0
    world.states(300)
    world.end()
    expected = held(world.controller.q[0], world.supervisor.base.rotation)
    np.testing.assert_allclose(world.published, expected[0, :7], atol=1e-6)


@pytest.mark.parametrize('has_payload', [False, True])
def test_plans_are_judged_with_the_base_as_it_is_tilted_now(has_payload):
    world = ship()
    if has_payload:
        world.plan(b'0.1')
        world.settle()
        world.deck.list = 0.4
        world.states(50)
        world.supervisor.change_model(SHIP_MODEL)
    world.deck.list = 0.0 if has_payload else 0.4
    world.states(50)
    world.plan(b'0.1')
    np.testing.assert_allclose(
        world.plans.robot.gravity, world.tilt.T @ SHIP.gravity, atol=1e-12)
    assert not world.plans.robot.floating


def test_on_a_ship_that_rolls_the_torque_follows_late_by_the_stage_alone():
    """5/ω late, 50 ms, and half a period of the odometry."""
    world = ship(bandwidth=50.0)
    world.deck.sea = 0.5
    worst, span = 0.0, []
    for k in range(1500):
        world.state()
        if k < 500:
            continue
        errors = []
        for late in (0.03, 0.05 + 0.5 * PERIOD, 0.12):
            (pose, *speeds), (later, *other) = (
                world.deck.motion(world.at - late + step) for step in (0.0, 1e-5))
            twist, after = (
                np.concatenate([at[:3, :3] @ angular, at[:3, :3] @ linear])
                for at, (linear, angular) in ((pose, speeds), (later, other)))
            hybrid = np.zeros((4, 6))
            hybrid[0, :3], hybrid[1] = twist[:3], (after - twist) / 1e-5
            expected = held(HOME, pose[:3, :3], hybrid)[0, :7]
            errors.append(np.abs(world.published - expected).max())
        worst = max(worst, errors[1])
        span.append(expected)
    assert np.ptp(span, axis=0).max() > 5.0
    assert worst < 0.03 * np.ptp(span, axis=0).max()


@pytest.mark.parametrize('at_measurement', [False, True])
def test_a_jump_of_the_odometry_makes_no_step(at_measurement):
    """Each cycle of the world compares what is published with the limits of it and its rate."""
    world = ship(at_measurement=at_measurement, bandwidth=100.0)
    before = world.published
    for tilt in (0.9, 0.0, -0.9, 0.0):
        world.deck.list = tilt
        world.states(30)
        assert tilt == 0.0 or np.abs(world.published - before).max() > 1.0
    world.states(400)
    np.testing.assert_allclose(world.published, before, atol=1e-6)


def test_a_jump_of_the_odometry_is_said_and_takes_as_long_as_a_fade():
    world = ship()
    world.deck.list = 0.8
    before = world.published.copy()
    found = np.abs(world.states(200) - before).max(axis=1)
    assert found[-1] > 3.0
    assert found[round(0.6 * FADE / PERIOD)] < 0.6 * found[-1]
    assert world.said('has jumped') == 1


def test_torque_that_the_tilt_takes_beyond_the_limits_is_said():
    effort = 1.02 * np.abs(ship().published) + 0.5
    world = World(model=feedforward_of(limited(SHIP, effort=effort)), deck=Swell())
    for tilt, is_said in ((0.0, False), (0.6, True), (0.0, False)):
        world.deck.list = tilt
        world.states(800)
        assert ('cut to its limits' in world.report[1]) == is_said


def test_an_arm_is_not_held_by_odometry_of_another_time():
    world = World(deck=Swell())
    world.is_measured = False
    for _ in range(50):
        world.odometry(late=10.0)
        world.state()
    assert world.report[0] == 'waiting'
    assert world.report[1].startswith('for the base: its stamp is 10.00')


def test_on_a_swaying_ship_it_is_what_mujoco_computes():
    """Torque and wrench are those of mj_inverse, and their rates the differences of these."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string("""<mujoco>
      <option gravity="0 0 -9.81"/><worldbody>
      <body name="deck"><freejoint name="free"/>
        <inertial pos="0.1 0 0.05" mass="200" diaginertia="10 20 25"/>
        <body name="arm" pos="0.5 0 0.8"><joint name="turn" axis="0 1 0"/>
          <inertial pos="0 0.1 0.3" mass="4" diaginertia="0.2 0.3 0.1"/>
          <body name="hand" pos="0 0 0.5"><joint name="slide" type="slide" axis="1 0 1"/>
            <inertial pos="0.05 0 0" mass="2" diaginertia="0.01 0.01 0.01"/>
      </body></body></body></worldbody></mujoco>""")
    robot, data = hd.load_robot(model), mujoco.MjData(model)
    feedforward, base, out = feedforward_of(robot), BaseMotion(), np.empty((3, 8))
    rng, times = np.random.default_rng(2), np.linspace(0.0, 8.0, 9)
    joints = fit_plan(times, rng.normal(size=(9, 2)) * [0.8, 0.1])
    sway = hd.fit_pose_plan(times, [
        lie.pose(lie.rotation_exp(0.5 * turn), at) for turn, at in rng.normal(size=(9, 2, 3))])

    def motion(t):
        pose = sway.evaluate(t)
        return joints.evaluate(t), pose[0, :3, :3], hd.pose_twist(pose, representation='hybrid')

    def found(t):
        """Return torque and the wrench on the deck in its axes, as MuJoCo has them."""
        q, rotation, hybrid = motion(t)
        data.qpos[:] = [*sway.evaluate(t)[0, :3, 3], *lie.quaternion(rotation), *q[0]]
        data.qvel[:] = [*hybrid[0, 3:], *(rotation.T @ hybrid[0, :3]), *q[1]]
        data.qacc[:] = [*hybrid[1, 3:], *(rotation.T @ hybrid[1, :3]), *q[2]]
        mujoco.mj_inverse(model, data)
        force = data.qfrc_inverse
        return np.array([*force[6:], *force[3:6], *(rotation.T @ force[:3])])

    for t in np.linspace(0.3, 7.6, 21):
        q, *base_motion = motion(t)
        base.move(*base_motion)
        feedforward.on_base(q, base, out)
        scale, step = np.abs(out).max(), 1e-4
        np.testing.assert_allclose(out[0], found(t), rtol=0.0, atol=1e-11 * scale)
        rate = (found(t + step) - found(t - step)) / (2.0 * step)
        np.testing.assert_allclose(out[1], rate, rtol=0.0, atol=1e-6 * scale)
        second = (found(t + 10 * step) - 2.0 * out[0] + found(t - 10 * step)) / (10 * step) ** 2
        np.testing.assert_allclose(out[2], second, rtol=0.0, atol=1e-5 * scale)


@pytest.mark.parametrize('bandwidth', [0.0, 10.0])
@pytest.mark.parametrize('axis', range(3))
@pytest.mark.parametrize('speed', [0.03, 0.09, 0.3])
def test_a_turn_in_degrees_per_second_reaches_no_published_torque(speed, axis, bandwidth):
    """It moved that of a shoulder by 18 N m before it was refused."""
    world = World(deck=Swell(), bandwidth=bandwidth)
    world.states(200)
    world.is_measured, direction = False, np.eye(3)[axis]
    held = world.controller.output[0].copy()
    for k in range(1, 300):
        world.odometry(
            turn=speed * PERIOD * k * direction, spin=np.degrees(speed) * direction)
        world.state()
        found = world.controller.output[0]
        np.testing.assert_allclose(found, held, rtol=0.0, atol=1e-6)
    assert world.supervisor.state is State.ADRIFT
