"""The friction of a joint is found however slowly it moves: its noise decides, no velocity."""
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from recordings import joint_state, write
from rigid_bodies import link
import yaml

import hodyn_ros as hd
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify

PEAK = 0.0212
"""Largest velocity of `made` for `scale` 1, rad/s or m/s."""


def made(kind, scale, *, law, moves=True, friction=None):
    """Record 15 moves of 2 s each, 0.01 to 0.04 rad or m long; return the bag."""
    Path('robot.yaml').write_text(yaml.safe_dump({
        'name': 'one', 'gravity': [0.0, 0.0, 0.0], 'bodies': [link(
            'a', kind=kind, mass=0.3, com=[0.0] * 3, inertia=(1e-3 * np.eye(3)).tolist())],
        **({} if friction is None else {'friction': friction})}), 'utf-8')
    points = scale * np.random.default_rng(42).uniform(0.01, 0.04, 16)
    time = np.arange(3000) / 100.0
    q = hd.fit_plan(np.linspace(0.0, 30.0, 16), points[:, None]).evaluate(time)[:, :5]
    if not moves:
        q[:, 0], q[:, 1:] = points[0], 0.0
    rng = np.random.default_rng(1)
    robot, noise = hd.load_robot('robot.yaml'), rng.standard_normal((3, len(time), 1))
    arm = dataclasses.replace(robot, friction=None)
    effort = hd.inverse_dynamics(arm, q)[:, 0] + law(q[:, 1]) + 0.01 * noise[2]
    stamp = 10 ** 11 + np.round(1e9 * time).astype(np.int64)
    return write('bag', {'/joint_states': [
        (int(s), joint_state(s, robot.joint_names, *values)) for s, *values in zip(
            stamp, q[:, 0] + 1e-6 * scale * noise[0], q[:, 1] + 1e-4 * scale * noise[1], effort,
            strict=True)]})


@pytest.fixture
def found_of(identified):
    """Return a function that identifies the joint of such a bag; it returns all and the joint."""
    def run(*arguments, terms=('friction', 'viscous', 'offsets'), **options):
        found = identified(
            made(*arguments, **options), terms=terms, options=['--robot', 'robot.yaml'])
        joint, = found['joints']
        return found, joint
    return run


@pytest.mark.parametrize('terms', [
    ('friction', 'offsets'), ('friction', 'viscous', 'offsets')], ids=['law', 'viscous'])
@pytest.mark.parametrize(('kind', 'scale'), [
    ('prismatic', 1.0), ('revolute', 1.0), ('prismatic', 0.03), ('prismatic', 30.0)])
def test_the_friction_of_a_joint_is_found_at_any_speed(found_of, kind, scale, terms):
    """Guards "this motion does not determine it", and viscous friction in its place."""
    found, joint = found_of(kind, scale, terms=terms, law=lambda velocity: 3.0 * np.tanh(
        velocity / (0.02 * scale)))
    law = {key: (value['value'], value['interval']) for key, value in joint['friction'].items()}
    assert law['amplitude'][0] == pytest.approx(6.0, abs=2.0 * law['amplitude'][1])
    # If none is found, the interval says what viscous friction could be instead of it.
    assert law['amplitude'][1] < (0.8 if 'viscous' in terms else 0.1)
    assert law['slope'][0] == pytest.approx(100.0 / scale, abs=2.0 * law['slope'][1])
    assert law['slope'][1] < (8.0 if 'viscous' in terms else 1.0) / scale
    assert law.get('viscous', (0.0, 0.0))[0] < 0.05 * 6.0 / (PEAK * scale)
    assert joint['rms_after'] < 0.02
    assert joint['standing'] < 0.02
    assert 'does not determine' not in found.out


@pytest.mark.parametrize('scale', [0.03, 1.0])
def test_friction_far_steeper_than_the_robots_is_found(found_of, scale):
    """Guards slopes that stay at the robot's, and the bound of slopes of fast joints."""
    def law(velocity):
        return 3.0 * np.tanh(velocity / (0.002 * scale)) + 20.0 / scale * velocity

    _, joint = found_of('prismatic', scale, law=law)
    assert joint['friction']['amplitude']['value'] == pytest.approx(6.0, rel=0.02)
    assert joint['friction']['slope']['value'] == pytest.approx(1000.0 / scale, rel=0.02)
    assert joint['friction']['viscous']['value'] == pytest.approx(20.0 / scale, rel=0.2)


@pytest.mark.parametrize('law', [np.sign, lambda velocity: np.tanh(velocity / 1e-3)], ids=[
    'coulomb', 'smooth'])
@pytest.mark.parametrize('given', [None, {
    'law': 'sigmoid', 'amplitude': [2.0], 'slope': [10.0], 'velocity_offset': [0.0]}])
@pytest.mark.parametrize('scale', [1.0, 10.0, 30.0])
def test_friction_steeper_than_the_law_stays_the_same_in_both_directions(
        found_of, scale, law, given):
    """Guards a friction of 5 N m in one direction and 1 N m in the other, for 3 N m in both."""
    viscous, offset = 20.0 / scale, 0.3
    found, joint = found_of(
        'revolute', scale, friction=given,
        law=lambda velocity: 3.0 * law(velocity) + viscous * velocity + offset)
    friction = joint['friction']
    slope, shift = (friction[key]['value'] for key in ('slope', 'velocity_offset'))
    assert abs(slope * shift) < 0.1
    assert slope == pytest.approx(max(300.0, 30.0 / (PEAK * scale)), rel=0.01)
    assert joint['rms_after'] < 0.9  # of the file, which has no offset
    written = found.robot.friction
    assert written.slope[0] == slope
    assert written.amplitude[0] == friction['amplitude']['value']
    for one, truth in (
            (friction['amplitude'], 6.0), (friction['viscous'], viscous),
            (joint['offset'], offset)):
        assert one['value'] == pytest.approx(truth, abs=2.0 * one['interval'])
    assert friction['amplitude']['interval'] < 0.2
    assert friction['slope']['interval'] is None
    assert f'{slope:.3g} (bound)' in found.out
    assert 'the bound of the search; treat it as unknown' in found.out


def test_the_friction_of_a_joint_that_stands_is_not_determined(hodyn):
    """What its sensors report as velocity is noise."""
    bag = made('prismatic', 1.0, law=np.zeros_like, moves=False)
    assert 'only 0 s of motion' in hodyn(
        'identify', bag, '--robot', 'robot.yaml', '--terms', 'friction', 'offsets', code=2).err


@pytest.mark.parametrize('noise', [0.02, 0.1])
@pytest.mark.parametrize('seed', range(3))
def test_coulomb_friction_of_a_slow_joint_is_not_written_as_viscous(noise, seed):
    """It was, 20 to 100 times too large, with a tight interval: at full speed 1000 N m for 40."""
    rng = np.random.default_rng(seed)
    time = np.arange(3000) / 100.0
    q = np.zeros((len(time), 5, 2))
    for joint, most in enumerate((0.06, 0.07)):
        phase = 2.0 * np.pi * rng.uniform(0.1, 0.5, (4, 1)) * time + rng.uniform(0.0, 6.0, (4, 1))
        velocity = np.sin(phase).sum(axis=0)
        scale = most / np.abs(velocity).max()
        q[:, 1, joint] = scale * velocity
        q[:, 0, joint] = np.cumsum(q[:, 1, joint]) * 0.01
        q[:, 2, joint] = np.gradient(q[:, 1, joint], 0.01)
    robot = hd.load_robot('twolink')
    law = SigmoidFriction(
        np.array([40.0, 10.0]), np.full(2, 60.0), np.zeros(2), np.array([5.0, 1.0]))
    effort = hd.inverse_dynamics(robot, q)[:, 0] + law.torque(q)[:, 0]
    effort += noise * np.array([20.0, 5.0]) * rng.standard_normal(effort.shape)
    found = identify(
        robot, Data(q, effort, time.astype(np.intp), True), ['friction', 'viscous', 'offsets'])
    # Of 20 N m in full motion, viscous friction has 0.3.
    at_limit = np.zeros((1, 5, 2))
    at_limit[0, 1] = 2.0
    written = SigmoidFriction(*(
        found.joints[key] for key in ('amplitude', 'slope', 'velocity_offset', 'viscous')))
    there, true = (one.torque(at_limit)[0, 0, 0] for one in (written, law))
    assert there == pytest.approx(true, rel=0.75)
