"""Known friction, payload and offsets are found again, within the stated intervals."""
import json
import re

import numpy as np
import pytest
from recordings import PANDA, joint_state, messages, motion, record, write
import yaml

from hodyn_ros import load_robot
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.payload import Payload, regressor, rigid_body
from hodyn_ros.identification.regression import Data, Estimate, identify
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.identification.validation import cross_validate
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.inertia import physical_fault

PAYLOAD = Payload(1.3, np.array([0.02, -0.03, 0.12]), np.diag([0.004, 0.005, 0.003]))
FRICTION = SigmoidFriction(
    np.array([0.9, 1.1, 0.5, 0.8, 0.4, 0.35, 0.3]),
    np.array([8.0, 20.0, 12.0, 6.0, 15.0, 30.0, 25.0]),
    np.array([0.02, -0.01, 0.0, 0.03, -0.02, 0.01, 0.0]))
OFFSET = np.array([0.1, -0.2, 0.05, 0.3, 0.0, -0.1, 0.02])
SPREAD = np.array([0.3, 0.3, 0.3, 0.3, 0.1, 0.1, 0.05])


def data(payload=PAYLOAD, duration=30.0, gravity=True, seed=0, rate=50.0):
    """Return noisy efforts along a known motion."""
    time = np.arange(round(duration * rate)) / rate
    q = motion(time)
    robot = PANDA if payload is None else payload.fixed_to(PANDA)
    effort = FeedForward(robot).torque(q, gravity=gravity, friction=False)[:, 0]
    effort = effort + FRICTION.torque(q)[:, 0] + OFFSET
    effort += SPREAD * np.random.default_rng(seed).standard_normal(effort.shape)
    return Data(q, effort, time.astype(np.intp), gravity)


def test_torques_are_linear_in_the_ten_parameters():
    q = motion(np.arange(20) * 0.1)
    expected = FeedForward(PAYLOAD.fixed_to(PANDA)).torque(q)[:, 0] - FeedForward(
        PANDA).torque(q)[:, 0]
    np.testing.assert_allclose(
        regressor(PANDA, q) @ PAYLOAD.parameters, expected, rtol=0.0, atol=1e-11)


def test_every_parameter_vector_is_a_physical_body():
    rng = np.random.default_rng(1)
    for _ in range(200):
        payload = rigid_body(rng.uniform(-3.0, 3.0, 10))
        assert payload.mass > 0.0
        assert physical_fault(payload.mass, payload.inertia) is None


@pytest.mark.slow
@pytest.mark.parametrize('gravity', [True, False])
def test_known_parameters_lie_within_their_intervals(gravity):
    given = data(gravity=gravity)
    found = identify(PANDA, given, ('friction', 'payload', 'offsets'))
    assert found.payload is not None
    truth = np.concatenate([
        FRICTION.amplitude, FRICTION.slope, FRICTION.velocity_offset, OFFSET, [PAYLOAD.mass],
        PAYLOAD.com])
    value = np.concatenate([
        found.friction.amplitude, found.friction.slope, found.friction.velocity_offset,
        found.offset, [found.payload.mass], found.payload.com])
    width = np.concatenate([
        found.friction_interval.ravel(), found.offset_interval, found.payload_interval[:4]])
    inside = np.abs(value - truth) < width
    assert inside.mean() > 0.85  # of 32 intervals of 95 %
    assert np.all(np.abs(value - truth) < 2.0 * width)
    assert found.payload_interval[0] < (0.02 if gravity else 0.3)
    assert np.all(found.friction_interval[0] < 0.15)


@pytest.mark.slow
def test_inertia_is_found_where_the_motion_excites_it():
    heavy = Payload(2.0, np.array([0.0, 0.05, 0.1]), np.diag([0.08, 0.07, 0.05]))
    given = data(heavy)
    found = identify(PANDA, given, ('friction', 'payload', 'offsets'))
    assert found.inertia_excited
    inertia = found.payload.inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
    truth = [0.08, 0.07, 0.05, 0.0, 0.0, 0.0]
    assert np.all(np.abs(inertia - truth) < 2.0 * found.payload_interval[4:])
    assert physical_fault(found.payload.mass, found.payload.inertia) is None


def test_no_payload_is_invented():
    found = identify(PANDA, data(None), ('friction', 'payload', 'offsets'))
    assert found.payload is None or found.payload.mass < 0.02


def test_terms_that_are_not_asked_for_are_kept():
    found = identify(PANDA, data(None), ('offsets',))
    np.testing.assert_array_equal(found.friction.amplitude, PANDA.friction.amplitude)
    assert np.isnan(found.friction_interval).all()
    assert found.payload is None


@pytest.mark.slow
def test_held_out_motion_is_predicted_to_the_noise():
    before, after = cross_validate(PANDA, data(), ('friction', 'payload', 'offsets'))
    assert np.all(after < 1.05 * SPREAD)
    assert np.all(before > after)


@pytest.mark.slow
def test_a_start_that_rings_does_not_decide():
    given = data()
    given.effort[:10] += 8.0 * (-1.0) ** np.arange(10)[:, None]
    found = identify(PANDA, given, ('friction', 'payload', 'offsets'))
    assert abs(found.payload.mass - PAYLOAD.mass) < 0.03
    np.testing.assert_allclose(found.friction.amplitude, FRICTION.amplitude, atol=0.15)


def test_too_short_a_recording_is_refused():
    with pytest.raises(ValueError, match='at least 8 s'):
        identify(PANDA, data(duration=5.0), ('friction',))


def test_numbers_that_no_fit_can_hold_are_refused():
    given = data(duration=12.0)
    given.q[::3, :3] *= 1e90
    with np.errstate(all='ignore'), pytest.raises(ValueError, match='too large for a fit'):
        identify(PANDA, given, ('friction', 'offsets'))


def bag(path, given, rate=50.0):
    recording = record(rate=rate, duration=len(given.q) / rate, position_noise=1e-5)
    recording.effort = given.effort
    return write(path, {'/joint_states': messages(recording)})


def test_friction_is_written_for_the_bodies_as_they_are_listed(tmp_path):
    data = robot_keys('panda')
    del data['limits'], data['friction']
    names = [body['name'] for body in data['bodies']]
    for body in data['bodies']:
        if isinstance(body['parent'], int) and body['parent'] >= 0:
            body['parent'] = names[body['parent']]
    data['bodies'].reverse()
    source = tmp_path / 'reversed.yaml'
    source.write_text(yaml.safe_dump(data), 'utf-8')
    none = np.full(7, np.nan)
    found = Estimate(FRICTION, np.tile(none, (3, 1)), none, none, None, none, False)
    write_robot(str(source), load_robot(source), found, tmp_path / 'found.yaml')
    friction = load_robot(tmp_path / 'found.yaml').friction
    for name in ('amplitude', 'slope', 'velocity_offset'):
        np.testing.assert_array_equal(getattr(friction, name), getattr(FRICTION, name))


def test_a_robot_from_urdf_becomes_one_in_yaml(tmp_path):
    source = tmp_path / 'arm.urdf'
    source.write_text(
        '<robot name="arm"><link name="base"/><link name="l1"><inertial><mass value="2"/>'
        '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>'
        '<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/>'
        '<limit lower="-1" upper="2" velocity="3" effort="40"/></joint></robot>')
    friction = SigmoidFriction(*(np.array([value]) for value in (0.9, 8.0, 0.02)))
    none = np.full(1, np.nan)
    found = Estimate(friction, np.tile(none, (3, 1)), none, none, PAYLOAD, none, False)
    robot = load_robot(source)
    write_robot(str(source), robot, found, tmp_path / 'found.yaml')
    written = load_robot(tmp_path / 'found.yaml')
    q = np.random.default_rng(5).normal(size=(5, 1))
    expected = FeedForward(PAYLOAD.fixed_to(robot)).torque(q) + friction.torque(q)
    np.testing.assert_allclose(FeedForward(written).torque(q), expected, rtol=1e-12)
    np.testing.assert_array_equal(written.limits.effort, robot.limits.effort)


@pytest.mark.slow
def test_command_writes_a_robot_that_explains_the_recording(tmp_path, capsys):
    path = bag(tmp_path / 'bag', data())
    assert main(['identify', str(path), '--output', str(tmp_path / 'out')]) == 0
    summary = json.loads((tmp_path / 'out/identification.json').read_text())
    assert summary['payload']['mass']['value'] == pytest.approx(1.3, abs=0.03)
    file = tmp_path / 'out/panda_identified.yaml'
    robot = load_robot(file)
    assert robot.joint_names == PANDA.joint_names
    np.testing.assert_allclose(
        robot.bodies[-1].mass - PANDA.bodies[-1].mass, 1.3, atol=0.03)
    np.testing.assert_array_equal(robot.limits.effort, PANDA.limits.effort)
    lines = capsys.readouterr().out.splitlines()
    # No cell of the tables is torn apart, a plus-minus without its number.
    assert sum(bool(re.search(r'joint\d.*\d ±', line)) for line in lines) == 14
    assert not any(re.search(r'±(?! [\d.])', line) for line in lines)
    # Identifying again, from what was written, adds next to nothing.
    assert main(['replay', str(path), '--robot', str(file), '--output',
                 str(tmp_path / 'replay')]) == 0
    joints = json.loads((tmp_path / 'replay/summary.json').read_text())['joints']
    for i, joint in enumerate(joints):
        assert joint['rms_error'] < 1.3 * np.hypot(SPREAD[i], OFFSET[i])


def test_wrong_input_is_one_line(tmp_path, capsys):
    recording = record(duration=10.0)
    silent = write(tmp_path / 'silent', {'/joint_states': [
        (received, joint_state(recording.stamp[i], recording.names, recording.position[i]))
        for i, (received, _) in enumerate(messages(recording))]})
    assert main(['identify', str(silent), '--output', str(tmp_path / 'out')]) == 2
    assert 'no efforts recorded' in capsys.readouterr().err
    assert main(['identify', str(tmp_path / 'none'), '--output', str(tmp_path / 'out')]) == 2
    assert 'no bag' in capsys.readouterr().err


@pytest.mark.slow
def test_messages_that_are_lost_are_told_and_counted_bag_by_bag(tmp_path, capsys):
    whole, cut = bag(tmp_path / 'whole', data(duration=10.0)), bag(
        tmp_path / 'cut', data(duration=10.0, seed=1))
    file = cut / 'cut.db3'
    file.write_bytes(file.read_bytes()[:file.stat().st_size * 3 // 4])
    assert main(['identify', str(whole), str(cut), '--terms', 'friction', '--output',
                 str(tmp_path / 'out')]) == 1
    line, = capsys.readouterr().err.strip().splitlines()
    first, second = json.loads((tmp_path / 'out/identification.json').read_text())['recordings']
    assert (first['samples_used'], first['damage']) == (500, None)
    lost = sum(place['messages'] for place in second['samples_lost'])
    assert second['samples_used'] + lost == second['samples_total'] == 500
    assert line.startswith(
        f'hodyn identify: {cut}: {lost} of 500 messages on /joint_states are lost: ')
    assert main(['identify', str(cut), '--output', str(tmp_path / 'none')]) == 2
    assert f'at least 8 s are needed to tell parameters from noise; {cut}: {lost} of 500' in (
        capsys.readouterr().err)


@pytest.mark.slow
def test_real_panda_held_out_residual_is_lowered(real_bag, tmp_path):
    assert main(['identify', str(real_bag), '--terms', 'friction', 'offsets', '--output',
                 str(tmp_path)]) == 0
    joints = json.loads((tmp_path / 'identification.json').read_text())['joints']
    for joint in joints:
        assert joint['held_out_rms_after'] < joint['held_out_rms_before']
    assert sum(j['held_out_rms_after'] for j in joints) < 0.95 * sum(
        j['held_out_rms_before'] for j in joints)
