"""``hodyn replay --live``: a bag played to a live node, which agrees with the offline replay."""
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import numpy as np
from processes import children
import pytest
from recordings import joint_state, messages, record, write
from rosbags.highlevel import AnyReader

pytestmark = pytest.mark.live


def replay(bag, output, *options, code='', **variables):
    """Run the command in a process of its own, since it sets up ROS for a whole one."""
    return subprocess.run(
        command(bag, output, *options, code=code), env={**os.environ, **variables},
        capture_output=True, text=True, timeout=300)


def command(bag, output, *options, code=''):
    code += 'import sys; from hodyn_ros.cli import main; sys.exit(main(sys.argv[1:]))'
    return [sys.executable, '-c', code, 'replay', str(bag), '--live', '--output', str(output),
            *options]


def nodes_of(pid):
    """Return the nodes that a process has started."""
    return [
        child for child in children(pid)
        if b'hodyn_ros.ros.feedforward_node' in Path(f'/proc/{child}/cmdline').read_bytes()]


def agreement(run, output):
    assert run.returncode == 0, run.stdout + run.stderr
    live = json.loads((output / 'summary.json').read_text())['live']
    for name in ('torque', 'torque_rate', 'torque_accel'):
        assert live['worst_difference'][name] <= 1e-12 * live['peak'][name]
        assert live['peak'][name] > 1.0
    return live


def test_the_node_publishes_the_offline_result_of_a_recording(ros_environment, tmp_path):
    # From time 0, with a gap and a clock set back; other joints among ours, their order changing.
    recording = record(rate=100.0, duration=3.0, jitter=0.3)
    recording.stamp -= recording.stamp[0]
    recording.stamp[200:] -= recording.stamp[200]
    rng = np.random.default_rng(3)
    pairs = []
    for i, (received, message) in enumerate(messages(recording)):
        if not 60 <= i < 80:
            order = rng.permutation(8)
            fields = [
                np.append(values, 0.02)[order]
                for values in (message.position, message.velocity, message.effort)]
            if i >= 250:  # a driver may leave them out
                fields[1] = []
            names = np.append(recording.names, 'fer_finger_joint1')[order]
            pairs.append((received, joint_state(recording.stamp[i], names, *fields)))
    bag = write(tmp_path / 'bag', {'/joint_states': pairs})
    run = replay(bag, tmp_path / 'out')
    live = agreement(run, tmp_path / 'out')
    assert live['played'] == live['samples'] == 280
    assert live['worst_from_estimate']['torque'] < 1e-9
    with AnyReader([tmp_path / 'out/live']) as reader:
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
    assert counts == dict.fromkeys(
        ('/feedforward/torque', '/feedforward/torque_rate', '/feedforward/torque_accel'), 280)


def test_the_node_publishes_the_offline_result_of_a_real_arm(ros_environment, real_bag, tmp_path):
    run = replay(real_bag, tmp_path / 'out')
    live = agreement(run, tmp_path / 'out')
    assert live['samples'] == live['played'] == 713
    assert live['worst_from_estimate']['torque_rate'] < 1e-4
    assert live['worst_from_estimate']['torque_accel'] < 0.1


def test_a_node_that_dies_is_told_and_what_was_computed_stays(ros_environment, tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=2.0))})
    run = subprocess.Popen(
        command(bag, tmp_path / 'out'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120.0
    while not (found := nodes_of(run.pid)) and run.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert found, run.communicate()
    os.kill(found[0], signal.SIGKILL)
    _, errors = run.communicate(timeout=60.0)
    assert run.returncode == 2, errors
    assert 'the node ended with code -9' in errors
    assert 'Traceback' not in errors
    assert 'live' not in json.loads((tmp_path / 'out/summary.json').read_text())
    assert not (tmp_path / 'out/live').exists()


OTHERS_TRAJECTORY = """
from dataclasses import replace
import numpy as np
from hodyn_ros.messages.joint_trajectory import encode
from hodyn_ros.ros import live_replay
play = live_replay.play


def play_anothers(playback, *others):
    trajectory = encode(
        [f'elbow{i}' for i in range(7)], np.array([1.0]), np.zeros((1, 5, 7)), np.zeros((1, 7)),
        playback.start)
    return play(replace(playback, trajectory=trajectory), *others)


live_replay.play = play_anothers
"""


def test_that_the_node_refuses_the_motion_is_told_with_its_reason(ros_environment, tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})
    run = replay(bag, tmp_path / 'out', code=OTHERS_TRAJECTORY)
    assert run.returncode == 2, run.stdout + run.stderr
    assert 'the node refused the recorded motion: ' in run.stderr
    assert 'elbow0' in run.stderr
    assert 'Traceback' not in run.stderr
    assert not (tmp_path / 'out/live').exists()


def test_without_ros_one_line_says_so(tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})
    run = replay(bag, tmp_path / 'out', code="import sys; sys.modules['rclpy'] = None; ")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert '--live needs ROS 2' in run.stderr
    assert not (tmp_path / 'out').exists()
