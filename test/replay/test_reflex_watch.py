"""How close a recorded motion came to the reflexes of the vendor's controller."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.reference import fit_plan
from hodyn_ros.replay.limit_watch import LimitWatch

ALL = np.ones((5, 7), dtype=bool)
MIDDLE = np.array([0.3, -0.2, 0.1, -1.6, 0.2, 1.8, 0.4])


@pytest.fixture(scope='module')
def chunks(feedforward):
    """Return a motion in two chunks."""
    stamps = np.arange(500) * 1_000_000
    q = fit_plan([0.0, 0.5], np.stack([MIDDLE, MIDDLE + 0.4])).evaluate(1e-9 * stamps)
    torque = feedforward.torque(q)
    return [SimpleNamespace(q=q[i:j], torque=torque[i:j], stamps=stamps[i:j])
            for i, j in ((0, 200), (200, 500))]


def watched(feedforward, chunks, motion=ALL, torque=ALL[:3]):
    watch = LimitWatch(feedforward, feedforward.robot.joint_names)
    for chunk in chunks:
        watch.add(chunk)
    return {found.reflex: found for found in watch.reflexes(motion, torque)}


def test_each_reflex_has_its_worst_joint_instant_and_value(feedforward, chunks):
    found = watched(feedforward, chunks)
    q = np.concatenate([chunk.q for chunk in chunks])
    limits = feedforward.robot.limits
    for name, values in (
        ('joint_velocity_violation', q[:, 1] / limits.velocity),
        ('joint_motion_generator_velocity_discontinuity', q[:, 2] / limits.acceleration),
        ('tau_j_range_violation', feedforward.torque(q)[:, 0] / limits.effort),
        # Commanded without gravity.
        ('controller_torque_discontinuity',
         feedforward.torque(q, gravity=False)[:, 1] / limits.effort_rate),
    ):
        worst = np.abs(values).max()
        at, joint = np.argwhere(np.abs(values) == worst)[0]
        assert found[name].share == pytest.approx(worst)
        assert (found[name].joint, found[name].time) == (f'joint{joint + 1}', at * 1_000_000)
    shares = [one.share for one in found.values()]
    assert shares == sorted(shares, reverse=True)


def test_what_the_recording_does_not_resolve_is_not_judged(feedforward, chunks):
    motion, torque = ALL.copy(), ALL[:3].copy()
    motion[3], torque[1] = False, False
    assert set(watched(feedforward, chunks)) - set(
        watched(feedforward, chunks, motion, torque)) == {
            'controller_torque_discontinuity', 'joint_motion_generator_acceleration_discontinuity'}
