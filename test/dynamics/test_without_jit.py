"""The kernels as plain Python, where an index out of bounds is an error.

With the 64 bits of a long double they also tell the exact answer to given doubles, and what half a
unit in their last place makes of it: forward dynamics loses no more digits than that.
"""
import os
import subprocess
import sys

import numpy as np
import pytest

BOUNDS = """
import numpy as np
from cases import random_case
import hodyn_ros as hd

rng = np.random.default_rng(0)
for floating in (False, True):
    for order in (0, 3):
        case = random_case(rng, 4, order, floating=floating, serial=False)
        robot = case.robot
        results = [
            case.efforts(formulation=formulation)
            for formulation in ('spatial', 'body_fixed', 'closed_form')[:2 if floating else 3]]
        for other in results[1:]:
            assert np.allclose(results[0], other, rtol=1e-10, atol=1e-10)
        for frame in ('body', 'joint', 'world'):
            assert np.isfinite(case.pushed(hd.joint_wrenches, frame=frame)).all()
        partials = case.pushed(hd.inverse_dynamics_derivatives)
        if not floating:
            out = np.empty_like(partials)
            hd.InverseDynamicsDerivatives(robot, order)(case.q, out)
        terms = case.of(hd.equations_of_motion, first=-1)
        assert np.linalg.eigvalsh(terms.mass[0])[0] > 0.0
        assert np.allclose(partials[order, order + 2], terms.mass[0])
        assert np.isfinite(case.of(hd.gravity_wrenches, first=-2)).all()
        assert np.isfinite(case.of(hd.external_efforts, case.wrenches, first=-2)).all()
        for moved in ((), robot.joint_names[::2]):
            for of_base in ('base_wrench', 'base_motion')[:1 + floating]:
                found = case.driven(hd.hybrid_dynamics, case.velocity[1:], moved, of_base=of_base)
                assert all(np.isfinite(x).all() for x in found)
print('done')
"""
LONG_DOUBLES = """
import math
import numpy as np
import hodyn_ros as hd
from hodyn_ros.dynamics.kernels import articulated_body, rnea_spatial

LONG, ORDER = np.longdouble, 5
robot = hd.load_robot('aerial_manipulator')
model, bodies = robot.kernel_model, len(robot.bodies)
rng = np.random.default_rng(0)
none = np.zeros((0, 0, 0))


def constants(kind):
    return (model.parent, model.body_table.astype(kind), model.body_in_kernel.astype(kind),
            robot.gravity.astype(kind))


def inverse(q, pose, twist):
    torque, wrench = np.zeros((ORDER + 1, robot.n)), np.zeros((ORDER + 1, 6))
    rnea_spatial._inverse_dynamics(
        *constants(float), q, pose, twist, none, torque, wrench,
        rnea_spatial.workspace(bodies, ORDER))
    return torque, wrench


def forward(q, pose, twist, torque, wrench, kind):
    found, base_found = np.zeros((ORDER + 1, robot.n), kind), np.zeros((ORDER + 1, 6), kind)
    assert articulated_body.hybrid_dynamics(
        *constants(kind), q.astype(kind), pose.astype(kind), twist.astype(kind),
        np.zeros(robot.n, bool), torque.astype(kind), False, wrench.astype(kind), none, found,
        base_found, np.zeros((2, bodies), kind),
        # what a workspace held before is any bits: a signalling NaN would warn where it is cast
        np.full_like(articulated_body.workspace(bodies, ORDER), np.nan, kind)) == -1
    return found, base_found


def of_table_3(t):
    '''The motion of AGF26, Table 3, with the base at the world's origin.'''
    start = np.deg2rad([10, -5, 15, -10, 7, -12])
    swing = np.deg2rad([60, 50, 40, 55, 45, 35]) / 2
    waves = [(w**k, w * t + k * np.pi / 2) for w in [np.pi / 30] for k in range(ORDER + 3)]
    q = np.array([-swing * scale * np.cos(angle) for scale, angle in waves])
    q[0] += start + swing
    circle, turn = 2 * np.pi / 20, 2 * np.pi / 30
    twist = np.zeros((ORDER + 2, 6))
    for k in range(ORDER + 2):
        phase = (k + 1) * np.pi / 2
        twist[k, 2] = np.deg2rad(25) * turn**(k + 1) * np.sin(turn * t + phase)
        twist[k, 3:5] = circle**(k + 1) * np.array([
            np.cos(circle * t + phase), np.sin(circle * t + phase)])
    return q, np.eye(4), twist


def rounded(x):
    return x.astype(LONG) * (1 + rng.choice([-1, 1], x.shape) * LONG(2)**-53)


def report(q, pose, twist):
    torque, wrench = inverse(q, pose, twist)
    given = q[:2], twist[:1], torque, wrench
    exact, double = (forward(given[0], pose, *given[1:], kind) for kind in (LONG, float))
    noisy = [forward(rounded(given[0]), pose, *map(rounded, given[1:]), LONG) for _ in range(8)]
    for part, truth in enumerate((q[2:], twist[1:])):
        size = np.abs(truth).max(1)
        error = np.abs(double[part] - exact[part]).max(1) / size
        noise = np.max([np.abs(x[part] - exact[part]).max(1) for x in noisy], 0) / size
        print(*(float(e) for e in error), *(float(e) for e in noise))


for t in (4.0, 7.0, 11.0, 19.0, 26.0):
    report(*of_table_3(t))
for _ in range(4):
    report(rng.normal(size=(ORDER + 3, robot.n)), np.eye(4), rng.normal(size=(ORDER + 2, 6)))
"""


def output(script):
    environment = {
        **os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, '-W', 'error::RuntimeWarning', '-c', script], env=environment,
        capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_kernels_stay_in_bounds():
    assert output(BOUNDS).strip() == 'done'


@pytest.mark.slow
@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason='a long double has no more digits than a double')
def test_the_algorithm_adds_less_than_the_rounding_of_its_arguments():
    lines = output(LONG_DOUBLES).splitlines()
    error, noise = np.array([
        [float(x) for x in line.split()] for line in lines]).reshape(18, 2, 6).swapaxes(0, 1)
    assert np.all(error <= 10.0 * noise), (error / noise).max(0)
    assert np.median(error / noise) < 1.5
