"""The kernels as plain Python, where an index out of bounds is an error."""
import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
from random_robots import random_base_motion, random_motion, random_robot, random_wrenches
import hodyn_ros as hd

rng = np.random.default_rng(0)
for floating in (False, True):
    for order in (0, 3):
        robot = random_robot(rng, 4, floating=floating, serial=False)
        q, wrenches = random_motion(rng, robot, order), random_wrenches(rng, robot, order)
        pose, twist = random_base_motion(rng, order)
        options = {'external_wrenches': wrenches}
        base = {'base_pose': pose, 'base_twist': twist} if floating else {}
        results = []
        for formulation in ('spatial', 'body_fixed', 'closed_form')[:2 if floating else 3]:
            result = hd.inverse_dynamics(robot, q, formulation=formulation, **base, **options)
            results.append(np.hstack(result) if floating else result)
        for other in results[1:]:
            assert np.allclose(results[0], other, rtol=1e-10, atol=1e-10)
        for frame in ('body', 'joint', 'world'):
            assert np.isfinite(
                hd.joint_wrenches(robot, q, frame=frame, **base, **options)).all()
        partials = hd.inverse_dynamics_derivatives(robot, q, **base, **options)
        if not floating:
            out = np.empty_like(partials)
            hd.InverseDynamicsDerivatives(robot, order)(q, out)
        lower = {'base_pose': pose, 'base_twist': twist[:-1]} if floating else {}
        terms = hd.equations_of_motion(robot, q[:-1], **lower)
        assert np.linalg.eigvalsh(terms.mass[0])[0] > 0.0
        assert np.allclose(partials[order, order + 2], terms.mass[0])
        lower = {'base_pose': pose, 'base_twist': twist[:order]} if floating else {}
        assert np.isfinite(hd.gravity_wrenches(robot, q[:order + 1], **lower)).all()
        assert np.isfinite(
            hd.external_efforts(robot, q[:order + 1], wrenches, **lower)).all()
        names = robot.joint_names[::2]
        for moved in ((), names):
            state = {'base_pose': pose, 'base_twist': twist[:1]} if floating else {}
            given = [{'base_wrench': twist[1:]}, {'base_motion': twist[1:]}]
            for known in given if floating else [{}]:
                found = hd.hybrid_dynamics(
                    robot, q[:2], q[2:], moved, **state, **known, **options)
                assert all(np.isfinite(x).all() for x in found)
print('done')
"""


@pytest.mark.slow
def test_kernels_stay_in_bounds():
    environment = {
        **os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, '-W', 'error::RuntimeWarning', '-c', SCRIPT],
        env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.strip() == 'done', result.stderr
