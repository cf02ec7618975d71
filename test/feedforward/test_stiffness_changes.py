"""A stiffness changes as streams do, within what motors and springs can give."""
from unittest.mock import Mock

from controllers import HOME, MOTOR, MS, AtHome, driven, still, with_tendons
import numpy as np
import pytest
from supervised import World, running

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, VariableStiffness
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.supervisor import Supervisor
from hodyn_ros.feedforward.transitions import State
from hodyn_ros.messages.joint_states import JointStateReader, JointStateWriter
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot.joint_names import JointNames


@pytest.mark.parametrize('bandwidth', [20.0, 100.0])
def test_the_stiffness_is_smoothed_as_streams_are(tendons, bandwidth):
    controller = AtHome(tendons, bandwidth=bandwidth)
    controller.evaluate(0)
    controller.set_stiffness(np.full(7, 1500.0))
    controller.evaluate(50 * MS)
    smooth = SmoothingFilter(np.full(7, 2000.0), bandwidth)
    smooth.set_target(np.full(7, 1500.0))
    expected = MotorSide(tendons.robot.actuators).evaluate(
        controller.q, controller.torque, smooth.advance(0.05)[:3].copy())
    np.testing.assert_allclose(controller.motors.reference, expected, rtol=1e-12)


def test_a_request_of_stiffness_names_the_variable_joints_alone(tendons):
    """A rigid joint may be named, with any value, and need not be."""
    names = tendons.robot.joint_names
    prefixed = [f'fer_{name}' for name in names]
    variable = tendons.robot.actuators.variable_joints
    assert variable == ('joint2',)
    reader = JointStateReader(JointNames(tendons.robot).of_driver(prefixed, variable))

    def asked(joints, values):
        supervisor = Supervisor(tendons, SupervisorSettings(
            ControllerSettings(), np.full(7, 0.2)), Mock(poll=lambda *_: None))
        supervisor.bind(prefixed)
        for stamp in range(4 * MS, 20 * MS, 4 * MS):
            if supervisor.take_state(HOME, np.zeros(7), stamp, 1000.0):
                supervisor.evaluate(stamp, 1000.0)
        writer = JointStateWriter(joints)
        writer.effort[:] = values
        supervisor.take_stiffness(reader.effort(writer.at(0)))
        return supervisor.controller.judged_stiffness.possible

    alone = asked(['fer_joint2'], [1500.0])
    assert alone[1] == 1500.0
    for rest in (0.0, -1.0, np.nan):
        np.testing.assert_array_equal(
            asked(prefixed, np.where(np.arange(7) == 1, 1500.0, rest)), alone)
    for joint, value, said in (
            ('fer_joint2', 0.0, "stiffness of joint 'fer_joint2' must be above 0"),
            ('fer_joint1', 1500.0, "no joint of robot 'panda' among the names"),
            ('panda_joint2', 1500.0, 'of another arm')):
        with pytest.raises(hd.HodynError, match=said):
            asked([joint], [value])


@pytest.mark.parametrize('rest', [0.0, np.nan])
def test_offline_the_stiffness_of_a_rigid_joint_is_not_read(tendons, rest):
    q = np.zeros((5, 5, 7))
    q[:, 0] = HOME
    torque = tendons.torque(q)
    given = np.tile(tendons.robot.actuators.constant_stiffness(), (5, 1, 1))
    rigid = np.where(tendons.robot.actuators.variable, given, rest)
    side, times = MotorSide(tendons.robot.actuators), np.arange(5.0)
    np.testing.assert_array_equal(
        side.along(times, q, torque, rigid), side.along(times, q, torque, given))


@pytest.mark.parametrize('law', [
    VariableStiffness(4000.0), AntagonisticExponential(2.0, 20.0, 2000.0)], ids=['one', 'pair'])
@pytest.mark.parametrize('seed', range(4))
def test_a_change_of_stiffness_uses_half_the_speed_of_the_motors(panda, law, seed):
    """Also from a soft spring to a hard one, and if requests follow upon each other."""
    controller = AtHome(with_tendons(
        panda, law, Motor(0.4, max_velocity=0.2, max_effort=150.0)))
    controller.evaluate(0)
    rng = np.random.default_rng(seed)
    begin, fastest = 0, 0.0
    for wanted in [100.0, 8000.0, *np.exp(rng.uniform(np.log(50.0), np.log(10_000.0), 10))]:
        controller.set_stiffness(np.full(7, wanted))
        end = begin + int(rng.uniform(0.05, 2.0) * 1e9)
        for now in range(begin + MS, end, 4 * MS):
            controller.evaluate(now)
            fastest = max(fastest, np.abs(controller.motors.wanted[1]).max())
        begin = end
    assert 0.25 * 0.2 < fastest < 0.53 * 0.2


@pytest.fixture
def changing(tendons):
    """Return a world whose stiffness has begun to change, with the motors in motion."""
    world = running(model=tendons)
    world.supervisor.take_stiffness(np.array([8000.0]))
    world.states(20)
    assert np.abs(world.controller.motors.reference[1]).max() > 0.05
    return world


def test_an_end_waits_until_the_motors_of_a_changing_stiffness_rest(changing):
    changing.end()
    assert np.abs(changing.controller.motors.reference[1:3]).max() < 1e-3


def test_without_joint_states_motors_rest_before_the_node_falls_silent(changing):
    for _ in range(5000):
        changing.pass_time(0.002)
        if changing.supervisor.state is State.SILENT:
            break
    assert changing.supervisor.state is State.SILENT
    assert np.abs(changing.controller.motors.reference[1:3]).max() < 1e-3


@pytest.mark.parametrize('payload', [0.0, 4.0])
def test_an_activation_begins_at_the_stiffness_of_the_last_one(changing, tendons, payload):
    """Motors were thrown to the stiffness of the file."""
    changing.states(2000)
    changing.end()
    held = changing.supervisor.held_stiffness
    file = tendons.robot.actuators.constant_stiffness()[0]
    assert held['joint2'] > 1.5 * file[1]
    last = changing.controller.motors.reference
    model = FeedForward(tendons.robot.with_payload('link7', payload, [0.0, 0.0, 0.1]))
    again = World(model=model)
    again.supervisor.stiffness = held
    again.states(10)
    first = again.controller.motors.reference
    bent = 0.0 if payload == 0.0 else 0.2
    assert np.abs(first[0] - last[0]).max() <= bent + 1e-9
    assert not first[1:3].any()
    assert again.controller.stiffness[0, 1] == pytest.approx(held['joint2'], rel=1e-9)
    assert again.said('the stiffness of the last activation still applies') == 1
    again.supervisor.take_stiffness(file[1:2])
    again.states(2000)
    assert again.controller.stiffness[0, 1] == pytest.approx(file[1], rel=1e-4)


def test_another_arm_does_not_begin_with_the_stiffness_of_the_last_one(tendons):
    world = World(model=tendons)
    world.supervisor.stiffness = {f'left_{name}': 5000.0 for name in tendons.robot.joint_names}
    world.supervisor.bind([f'right_{name}' for name in tendons.robot.joint_names])
    world.states(10)
    assert world.report[0] == 'holding'
    assert world.controller.stiffness is None
    assert world.supervisor.held_stiffness == {}
    assert not world.said('the stiffness of the last activation')


def test_an_end_at_rest_leaves_a_stiffness_that_the_payload_needs(tendons):
    """The way to the same stiffness began at that of the file, which cannot carry it."""
    soft = with_tendons(tendons.robot, AntagonisticExponential(2.0, 20.0, 400.0))
    loaded = FeedForward(soft.robot.with_payload('link7', 6.0, [0.0, 0.0, 0.1]))
    world = World(model=loaded)
    world.supervisor.stiffness = dict.fromkeys(soft.robot.joint_names, 1500.0)
    world.states(10)
    before = world.controller.motors.reference[0].copy()
    world.end()
    assert world.controller.motors.feasible.all()
    np.testing.assert_allclose(world.controller.motors.reference[0], before, atol=1e-9)


@pytest.mark.parametrize('wanted', [3000.0, 1000.0, 1.0])
def test_a_change_begins_and_ends_where_the_stiffness_of_the_file_is_too_little(tendons, wanted):
    """Its way was judged from the file's stiffness, to which the motors then went."""
    soft = with_tendons(tendons.robot, AntagonisticExponential(2.0, 20.0, 400.0))
    loaded = FeedForward(soft.robot.with_payload('link7', 6.0, [0.0, 0.0, 0.1]))
    world = World(model=loaded)
    world.supervisor.stiffness = dict.fromkeys(soft.robot.joint_names, 1500.0)
    world.states(10)
    controller = world.controller
    reached, thetas = [], []

    def advance(count):
        for _ in range(count):
            world.state()
            reached.append(controller.stiffness[0, 1])
            thetas.append(controller.motors.reference[0].copy())
            assert controller.motors.feasible.all()

    world.supervisor.take_stiffness(np.array([wanted]))
    advance(30)
    world.supervisor.deactivate()
    advance(1000)
    assert world.supervisor.state is State.ENDED
    assert not controller.motors.any_held
    assert np.abs(np.diff(thetas, axis=0)).max() < 0.02
    assert min(wanted, 1500.0) <= min(reached) * (1 + 1e-9)
    assert max(reached) <= max(wanted, 1500.0) * (1 + 1e-9)


def test_a_stiffness_that_springs_do_not_have_any_more_is_not_resumed(tendons):
    """The weight of another payload, or at another position, wants more."""
    world = World(model=tendons)
    world.supervisor.stiffness = dict.fromkeys(tendons.robot.joint_names, 1.0)
    world.states(10)
    file = tendons.robot.actuators.constant_stiffness()[0]
    assert 1.0 < world.controller.stiffness[0, 1] < 1.01 * file[1]
    assert world.said('motors of joint2 begin nearer to the stiffness of the robot file') == 1
    assert world.controller.motors.feasible.all()
    assert world.report[0] == 'holding'


def test_a_payload_raises_a_stiffness_that_was_possible_without_it(tendons):
    """That was not said, and it stayed so without the payload."""
    world = running(model=tendons)
    world.supervisor.take_stiffness(np.array([1.0]))
    world.states(1000)
    soft = 1.01 * world.controller.stiffness[0, 1]
    world.supervisor.take_stiffness(np.array([soft]))
    world.states(1000)
    assert world.controller.stiffness[0, 1] == pytest.approx(soft)
    assert world.report == ('holding', '')
    world.supervisor.change_model(FeedForward(
        tendons.robot.with_payload('link7', 3.0, [0.0, 0.0, 0.1])))
    world.states(1000)
    assert world.controller.stiffness[0, 1] > 1.05 * soft
    assert world.controller.motors.feasible.all()
    assert not world.controller.motors.any_held
    assert world.report == ('holding', 'the desired stiffness is not reached: see the log')
    assert world.said(f' of {soft:.4g} N m/rad, as far as ') == 1
    world.supervisor.change_model(tendons)
    world.states(1000)
    assert world.controller.stiffness[0, 1] == pytest.approx(soft)
    assert world.report == ('holding', '')


def test_a_stream_of_stiffness_out_of_reach_is_one_line_a_second(panda):
    """Each request with other numbers was a line: 143 in 4 s at 50 Hz."""
    tendons = JointActuator(AntagonisticExponential(2.0, 20.0, 2000.0), MOTOR)
    world = running(model=FeedForward(driven(panda, tendons)))
    for number in range(200):
        world.supervisor.take_stiffness(np.full(7, 1.0 + 0.001 * number))
        world.states(5)
    assert 4 <= world.said('as far as') <= 6
    world.states(500)  # the last request is among them
    assert world.said(' of 1.199 N m/rad, as far as') == 1
    world.supervisor.take_stiffness(np.full(7, 2500.0))
    world.states(260)  # a second after a request that can be reached, nothing is said
    assert world.report == ('holding', '')


@pytest.mark.parametrize(('wanted', 'is_asked'), [(8e5, True), (5e4, False)])
def test_a_stiffness_that_nothing_limits_is_asked_about_in_newton_millimetres(
        panda, wanted, is_asked):
    """It was taken without a word."""
    springs = JointActuator(VariableStiffness(800.0), Motor(0.5))
    world = running(model=FeedForward(driven(panda, springs)))
    for factor in np.linspace(1.0, 1.1, 40):
        world.supervisor.take_stiffness(np.full(7, wanted * factor))
        world.states(10)
    assert world.said('requested stiffness is in N m/rad: is this N mm/rad?') == is_asked
    assert not world.said('as far as')


@pytest.mark.parametrize(('softer', 'is_asked'), [(180.0 / np.pi, True), (10.0, False)])
def test_a_stiffness_that_lets_the_weight_bend_the_arm_is_asked_about_in_degrees(
        panda, softer, is_asked):
    load = np.abs(FeedForward(panda).torque(still(HOME))[0]).max()
    usual = load * 180.0 / np.pi / 0.4
    springs = JointActuator(VariableStiffness(usual), Motor(0.5))
    world = running(model=FeedForward(driven(panda, springs)))
    for _ in range(40):
        world.supervisor.take_stiffness(np.full(7, usual / softer))
        world.states(10)
    assert world.said('is this N m/deg?') == is_asked


def test_each_joint_that_does_not_reach_its_stiffness_is_named(panda):
    tendons = JointActuator(AntagonisticExponential(2.0, 20.0, 2000.0), MOTOR)
    world = running(model=FeedForward(driven(panda, tendons)))
    wanted = np.full(7, 2500.0)
    wanted[[1, 3]] = 1.0
    world.supervisor.take_stiffness(wanted)
    world.states(2)
    line, = (line for line in world.logged if 'as far as' in line)
    assert line.count(' of 1 N m/rad') == 2
    assert 'joint2: ' in line
    assert 'joint4: ' in line
    assert 'joint1' not in line


@pytest.mark.parametrize(('motor', 'deflection', 'wanted', 'limit'), [
    (Motor(0.5, max_effort=60.0), np.inf, 5000.0, 'max_effort of the motors'),
    (Motor(0.5), 0.3, 1e6, 'the largest deflection of the springs'),
    (Motor(0.5, max_effort=300.0), 0.3, 70.0, 'the law of the springs')])
def test_what_keeps_joints_from_their_stiffness_is_named(panda, motor, deflection, wanted, limit):
    tendons = JointActuator(AntagonisticExponential(2.0, 20.0, 2000.0), motor, deflection)
    world = running(model=FeedForward(driven(panda, tendons)))
    world.supervisor.take_stiffness(np.full(7, wanted))
    world.states(2)
    line, = (line for line in world.logged if 'as far as' in line)
    assert line.count(f' of {wanted:.4g} N m/rad') == 7
    assert line.count('as far as') == 1
    assert f', as far as {limit} allows' in line
    assert line.endswith('Is the request in N m/rad?') == (wanted == 1e6)


def test_springs_that_a_quarter_of_the_effort_would_stretch_too_far_are_named(panda):
    springs = JointActuator(VariableStiffness(2000.0), Motor(0.5), max_deflection=0.02)
    world = running(model=FeedForward(driven(panda, springs)))
    world.supervisor.take_stiffness(np.full(7, 100.0))
    world.states(2)
    line, = (line for line in world.logged if 'as far as' in line)
    soft, bent = line.split('; ')
    assert 'joint1: 1088 of 100 N m/rad' in soft  # 0.25 · 87 N m / 0.02 rad
    assert soft.endswith('the springs at a quarter of the effort limit allows')
    assert bent.startswith('joint4: ')  # its weight is more than a quarter
    assert bent.endswith('as far as the largest deflection of the springs allows')


def heavy(tendons, mass):
    """Return the feed-forward with a payload, and with springs whose file is too soft for it."""
    soft = with_tendons(
        tendons.robot, AntagonisticExponential(2.0, 20.0, 400.0), Motor(0.5, max_effort=120.0))
    return FeedForward(soft.robot.with_payload('link7', mass, [0.0, 0.0, 0.1]))


def test_what_is_reached_of_a_request_beyond_all_limits_does_not_depend_on_its_size(tendons):
    """Steps between the possible and the request were as coarse as it was large."""
    reached = []
    for wanted in (1e4, 1e9, 1e12):
        world = World(model=heavy(tendons, 6.0))
        world.supervisor.stiffness = dict.fromkeys(world.robot.joint_names, 1500.0)
        world.states(10)
        world.supervisor.take_stiffness(np.array([wanted]))
        world.states(1500)
        reached.append(world.controller.stiffness[0, 1])
    np.testing.assert_allclose(reached, reached[0], rtol=0.01)


def test_a_stiffness_that_carries_a_heavier_payload_is_found(tendons):
    """Neither the file's, nor the present one, nor any up to the request carries it."""
    world = World(model=heavy(tendons, 6.0))
    world.supervisor.stiffness = dict.fromkeys(world.robot.joint_names, 1500.0)
    world.states(10)
    world.supervisor.take_stiffness(np.array([1.0]))
    world.states(1000)
    world.supervisor.change_model(heavy(tendons, 7.0))
    world.states(2000)
    assert world.controller.motors.feasible.all()
    assert not world.controller.motors.any_held


def test_each_request_out_of_reach_is_logged(tendons):
    world = running(model=tendons)
    for wanted in (1.0, 2.0, 5.0):
        world.supervisor.take_stiffness(np.array([wanted]))
        world.states(260)  # more than a second
        assert world.said(f' of {wanted:g} N m/rad, as far as') == 1
    world.supervisor.take_stiffness(np.array([1500.0]))
    world.states(600)
    assert world.report == ('holding', '')
