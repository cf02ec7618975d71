"""Efforts that stop changing while the arm moves on are told from resting and coarse ones."""
import numpy as np
import pytest
from recordings import PANDA, messages, record, write
from rough_recordings import ROBOTS, motion, recorded

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.replay.stalled_efforts import seconds_unchanged, usual_efforts
from hodyn_ros.robot.joint_names import JointNames

PERIOD, COUNT = 0.01, 1000


def stalled(robot, q, effort):
    """Return which efforts of a recording, of 10 s, are found to stand still."""
    whole, inertial = (
        FeedForward(robot).torque(q, gravity=gravity, friction=False)[:, 0]
        for gravity in (True, False))
    given = (seconds_unchanged(effort, PERIOD), effort, q[:, 1],
             np.stack([inertial, whole - inertial]))
    return usual_efforts(*given).stalled(*given)


def rough(seed):
    rng = np.random.default_rng(seed)
    robot = ROBOTS[seed % len(ROBOTS)]
    size = rng.choice([0.3, 1.0])
    return rng, robot, *recorded(rng, robot, off=0.2, size=size, count=COUNT)


@pytest.mark.parametrize('held', [0.0, 1.0], ids=['zero', 'held'])
@pytest.mark.parametrize('to_the_end', [True, False])
def test_efforts_that_stop_are_found_for_the_whole_time(held, to_the_end):
    """Of one joint, and of all of them; not one effort beside them is left out."""
    missed = 0
    for seed in range(12):
        rng, robot, q, effort = rough(seed)
        begin = int(rng.integers(100, 500))
        joints = [slice(None), [int(rng.integers(robot.n))]][seed % 2]
        late = np.zeros(effort.shape, np.bool_)
        late[begin:None if to_the_end else begin + 400, joints] = True
        before = effort[begin - 1].copy()
        found = stalled(robot, q, np.where(late, held * before, effort))
        missed += (late & ~found).any()
        found[begin - 1] = False  # the last effort before is the same as the first held one
        assert not (found & ~late).any(), seed
    assert missed <= 1


@pytest.mark.parametrize('step', [0.0, 0.01, 0.05, 0.2])
def test_sound_coarse_and_resting_efforts_never_stand_still(step):
    """Of wrong links, with friction and noise; every arm rests for 3 s, and drives have bands."""
    for seed in range(100, 116):
        rng, robot, q, effort = rough(seed)
        begin = int(rng.integers(100, 600))
        rest = np.r_[:begin, 300 * [begin], begin:COUNT - 300]
        if seed % 2:
            q, effort = q[rest], effort[rest]
            q[begin:begin + 300, 1:] = 0.0
        if step:
            size = step * np.ptp(effort, axis=0)
            effort = size * np.round(effort / size)
        assert not stalled(robot, q, effort).any(), seed
        silent = np.abs(effort) < 0.05 * np.abs(effort).max(axis=0)
        assert not stalled(robot, q, np.where(silent, 0.0, effort)).any(), seed


def test_joints_held_by_friction_and_commanded_grippers_never_stand_still():
    for seed in range(200, 216):
        rng, robot, q, effort = rough(seed)
        held, gripper = rng.permutation(robot.n)[:2]
        begin = int(rng.integers(100, 500))
        there = slice(begin, begin + 400)
        effort[there, held], q[there, 0, held] = effort[begin, held], q[begin, 0, held]
        q[there, 1:, held] = 0.0
        effort[:, gripper] = np.where(np.sin(1.25e-2 * np.arange(COUNT)) > 0.0, 20.0, 0.0)
        assert not stalled(robot, q, effort).any(), seed


def test_a_joint_that_rests_is_left_out_together_with_all_the_others():
    rng = np.random.default_rng(1)
    q = motion(rng, ROBOTS[0], count=COUNT)
    q[500:, 0, 0], q[500:, 1:, 0] = q[500, 0, 0], 0.0
    effort = FeedForward(ROBOTS[0]).torque(q)[:, 0] + 0.1 * rng.standard_normal((COUNT, 7))
    effort[500:] = effort[500]
    assert stalled(ROBOTS[0], q, effort)[500:].all()


def test_a_recording_is_judged_by_the_efforts_before_they_stopped(tmp_path):
    recording = record(duration=12.0)
    recording.effort[600:, 1] = 0.0
    recording.effort[800:] = recording.effort[800]
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with JointStateBag(bag, JointNames(PANDA, prefix='fer_')) as opened:
        torques = RecordedTorques(opened, FeedForward(ROBOTS[0]), deviations=False)
        effort = np.concatenate([chunk.effort for chunk in torques.chunks()])
    assert torques.efforts.gravity_share == pytest.approx(1.0, abs=0.01)
    np.testing.assert_array_equal(np.isnan(effort[:, 1]), np.arange(1200) >= 600)
    np.testing.assert_array_equal(np.isnan(effort[:, 0]), np.arange(1200) >= 800)
    sentence, = torques.efforts.sentences(list('abcdefg'))
    assert sentence.startswith(
        'Efforts stand still while the arm moves on: a, c, d, e, f, g from t = 8 s to 11.99 s; '
        'b from t = 6 s to 11.99 s. ')
