"""``hodyn replay --live``: a bag played to a live node, which agrees with the offline replay."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from recordings import joint_state, messages, record, write
from rosbags.highlevel import AnyReader

pytestmark = pytest.mark.live


def replay(bag, output, *options, code='', **variables):
    """Run the command in a process of its own, since it sets up ROS for a whole one."""
    code += 'import sys; from hodyn_ros.cli import main; sys.exit(main(sys.argv[1:]))'
    return subprocess.run(
        [sys.executable, '-c', code, 'replay', str(bag), '--live', '--output', str(output),
         *options],
        env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)


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


def test_without_ros_one_line_says_so(tmp_path):
    bag = write(tmp_path / 'bag', {'/joint_states': messages(record(duration=1.0))})
    run = replay(bag, tmp_path / 'out', code="import sys; sys.modules['rclpy'] = None; ")
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert '--live needs ROS 2' in run.stderr
    assert not (tmp_path / 'out').exists()
