"""The feed-forward of an arm at a fixed base, alone and when it is compiled at a start."""
from dataclasses import replace
import json
import os

from controllers import still
import numpy as np
from processes import printed_by
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings
from hodyn_ros.feedforward.warm_up import warm_up


def motion(rng, n, samples=None):
    shape = (5, n) if samples is None else (samples, 5, n)
    return rng.normal(size=shape) * np.array([1.0, 1.0, 5.0, 50.0, 500.0])[:, None]


def test_the_torque_is_rigid_body_dynamics_plus_friction(panda, feedforward):
    q = motion(np.random.default_rng(1), 7, 20)
    assert panda.friction is not None
    whole = hd.inverse_dynamics(panda, q) + panda.friction.torque(q)
    np.testing.assert_array_equal(feedforward.torque(q), whole)
    np.testing.assert_array_equal(
        feedforward.torque(q, friction=False), hd.inverse_dynamics(panda, q))


def test_one_motion_and_a_batch_agree(feedforward):
    q = motion(np.random.default_rng(2), 7, 9)
    one_by_one = np.array([feedforward.torque(sample) for sample in q])
    batch = feedforward.torque(q)
    scale = np.abs(batch).max(axis=(0, 2), keepdims=True)
    assert np.abs(one_by_one - batch).max() <= 1e-13 * scale.max()


def test_gravity_left_out_is_what_holds_the_arm_and_its_rates(panda, feedforward):
    rng = np.random.default_rng(3)
    q = motion(rng, 7)
    weight = feedforward.torque(q) - feedforward.torque(q, gravity=False)
    np.testing.assert_allclose(
        weight[0], hd.inverse_dynamics(panda, still(q[0]))[0], rtol=0, atol=1e-10)
    assert np.abs(weight[1:]).max() > 1.0


@pytest.mark.parametrize(('q', 'out', 'said'), [
    (np.zeros((3, 7)), None, r'q has shape \(3, 7\); expected \(5, 7\)'),
    (np.zeros((5, 6)), None, r'q has shape \(5, 6\); expected \(5, 7\)'),
    (np.zeros((4, 3, 7)), None, r'q has shape \(4, 3, 7\); expected \(4, 5, 7\)'),
    (np.zeros((5, 7)), np.zeros((2, 7)), r'out has shape \(2, 7\); expected \(3, 7\)'),
])
def test_wrong_shapes_are_said_with_the_right_ones(feedforward, q, out, said):
    with pytest.raises(hd.HodynError, match=f'^{said}$'):
        feedforward.torque(q, out)


@pytest.mark.slow
def test_the_library_never_imports_ros():
    script = (
        'import sys, json, pkgutil, importlib, hodyn_ros\n'
        'skip = ("hodyn_ros.ros", "hodyn_ros.simulation")\n'
        'for module in pkgutil.walk_packages(hodyn_ros.__path__, "hodyn_ros."):\n'
        '    if not module.name.startswith(skip):\n'
        '        importlib.import_module(module.name)\n'
        'print(json.dumps(sorted(m for m in sys.modules if m.split(".")[0] in\n'
        '    ("rclpy", "launch", "sensor_msgs", "mujoco"))))\n')
    assert json.loads(printed_by(script).splitlines()[-1]) == []


def test_rotors_add_their_inertia_times_the_accelerations(panda):
    q = motion(np.random.default_rng(4), 7, 5)
    inertia = np.linspace(0.1, 0.7, 7)
    feedforward = FeedForward(replace(panda, rotor_inertia=inertia))
    expected = FeedForward(panda).torque(q) + inertia * q[:, 2:]
    np.testing.assert_allclose(feedforward.torque(q), expected, rtol=1e-14)
    np.testing.assert_allclose(feedforward.torque(q[0]), expected[0], rtol=1e-14)


WARMTH = """
import hodyn_ros as hd
from hodyn_ros.feedforward.settings import ControllerSettings
from hodyn_ros.feedforward.warm_up import is_warm, warm_up
robot = hd.load_robot('panda')
warmth = [is_warm()]
hd.InverseDynamics(robot)
warmth.append(is_warm())
warm_up(hd.FeedForward(robot), ControllerSettings())
print(*warmth, is_warm())
"""


@pytest.mark.siege
def test_only_a_whole_warm_up_counts(tmp_path):
    """After one that was ended, or another command, the next start was silent for 20 s."""
    assert printed_by(WARMTH, env={
        **os.environ, 'NUMBA_DISABLE_JIT': '0', 'NUMBA_CACHE_DIR': str(tmp_path),
    }).split() == ['False', 'False', 'True']


def test_a_robot_whose_torques_are_not_finite_is_refused_when_it_warms_up(panda):
    with pytest.raises(hd.HodynError, match='torques at zero position are not finite'):
        warm_up(FeedForward(panda.with_gravity((0.0, 0.0, -1e308))), ControllerSettings())
