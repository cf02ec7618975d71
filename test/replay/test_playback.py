"""What is played to a live node: its plan is the estimated motion, whatever the bag."""
import json

import numpy as np
import pytest
from recordings import PANDA, messages, record, write

from hodyn_ros.cli.replay import run_replay
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages import cdr
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.messages.joint_trajectory import decode
from hodyn_ros.replay.playback import APPROACH, Playback, PlaybackBuilder, compare_answers
from hodyn_ros.replay.recorded_torques import RecordedTorques
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files import load_robot, without_limits
from hodyn_ros.robot.joint_names import JointNames

FREE = load_robot(without_limits('panda'))


def playback(tmp_path, recording) -> Playback:
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    with JointStateBag(path, JointNames(PANDA)) as bag:
        builder = PlaybackBuilder()
        for chunk in RecordedTorques(bag, FeedForward(PANDA)).chunks():
            builder.add(chunk)
        return builder.build(bag.names, FREE)


def test_the_trajectory_makes_the_estimate_again_with_jerk_and_snap(tmp_path):
    recording = record(rate=30.0, duration=8.0, jitter=0.3)
    played = playback(tmp_path, recording)
    assert len(played.sample) == 240
    np.testing.assert_array_equal(played.stamps[played.sample], recording.stamp)
    np.testing.assert_array_equal(played.position[played.sample], recording.position)
    assert cdr.stamp(played.trajectory) == played.start
    assert decode(played.trajectory).names == tuple(recording.names)
    # The first samples of the estimate still feel what was assumed of the motion before them.
    difference = np.abs(played.offline - played.estimate)[12:].max(axis=(0, 2))
    peak = np.abs(played.estimate).max(axis=(0, 2))
    assert np.all(difference < np.array([1e-12, 1e-7, 1e-5]) * peak)


def test_states_begin_before_the_trajectory_and_never_pause_for_long(tmp_path):
    recording = record(rate=50.0, duration=4.0)
    late = recording[np.r_[0:80, 120:200]]  # a gap of 0.8 s, beyond five periods
    played = playback(tmp_path, late)
    assert played.stamps[0] == played.start - APPROACH
    assert np.all(np.diff(played.stamps) > 0)
    assert np.diff(played.stamps).max() <= 1.01 * 2e7
    assert len(played.sample) == 160
    assert played.stamps[played.sample[80]] - played.stamps[played.sample[79]] > APPROACH
    # What waits shows the sample before it.
    between = slice(played.sample[79], played.sample[80])
    assert np.all(played.position[between] == late.position[79])


def test_a_clock_set_back_and_stamps_near_zero_are_played_in_order(tmp_path):
    recording = record(rate=50.0, duration=4.0)
    recording.stamp -= recording.stamp[0]
    recording.stamp[100:] -= recording.stamp[100]
    played = playback(tmp_path, recording)
    stamps = played.stamps[played.sample]
    assert len(stamps) == 200
    assert np.all(np.diff(stamps) > 0)
    assert played.stamps[0] > 10 ** 9
    assert (stamps[0] - recording.stamp[0]) % 10 ** 9 == 0


def test_limits_do_not_keep_a_recording_from_being_played(tmp_path):
    recording = record(rate=100.0, duration=2.0, bandwidth=4.0)
    assert np.abs(recording.q[:, 1]).max() > PANDA.limits.velocity.min()
    assert len(playback(tmp_path, recording).sample) == 200


def test_answers_are_compared_where_there_are_any(tmp_path):
    played = playback(tmp_path, record(rate=50.0, duration=2.0))
    answers = played.offline.copy()
    answers[3] = np.nan
    agreement = compare_answers(played, answers)
    assert (agreement.played, agreement.samples) == (100, 99)
    assert agreement.holds
    assert not agreement.worst_difference.any()
    answers[10, 1, 2] += 0.25
    agreement = compare_answers(played, answers)
    assert not agreement.holds
    assert agreement.worst_difference == pytest.approx([0.0, 0.25, 0.0])
    with pytest.raises(ValueError, match='none'):
        compare_answers(played, np.full_like(answers, np.nan))


@pytest.mark.slow
def test_a_node_that_fails_leaves_the_report(tmp_path):
    path = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})

    def fail(playback, robot_file, prefix):
        raise HodynError('no node')

    with pytest.raises(ValueError, match='no node'):
        run_replay(path, 'panda', tmp_path / 'out', play=fail)
    assert 'live' not in json.loads((tmp_path / 'out/summary.json').read_text())
    assert (tmp_path / 'out/report.html').exists()


@pytest.mark.slow
def test_a_node_that_differs_is_told_by_exit_code_and_report(tmp_path, capsys):
    path = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})

    def differ(playback, robot_file, prefix):
        motion = np.stack([playback.position, playback.velocity], axis=1)[playback.sample]
        return motion, playback.offline * (1.0 + 1e-6)

    assert run_replay(path, 'panda', tmp_path / 'out', play=differ) == 1
    live = json.loads((tmp_path / 'out/summary.json').read_text())['live']
    assert not live['agrees']
    assert live['samples'] == 100
    assert live['worst_difference']['torque'] == pytest.approx(1e-6 * live['peak']['torque'])
    assert 'more than round-off' in (tmp_path / 'out/report.html').read_text('utf-8')
