"""``hodyn demo``: what it leaves, and that it leaves nothing unfinished when it is ended."""
import json
import signal
import subprocess
import sys
import time

from processes import children
import pytest

from hodyn_ros.common.output_files import UNFINISHED
from hodyn_ros.messages.bags import Bag

pytestmark = pytest.mark.live
TOPICS = {f'/hodyn_demo/{name}' for name in (
    'joint_states', 'feedforward/torque', 'feedforward/torque_rate', 'feedforward/torque_accel')}


def demo(*options):
    return subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', 'demo', '--duration', '2', *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_demo_leaves_picture_bag_and_numbers_also_when_it_is_ended(
    ros_environment, tmp_path,
):
    output, figures = tmp_path / 'out', tmp_path / 'figures.json'
    first = demo('--output', str(output), '--json', str(figures), '--retime')
    printed, errors = first.communicate(timeout=300)
    assert first.returncode == 0, errors
    assert f'plot and bag in {output}/' in ' '.join(printed.split())
    written = json.loads(figures.read_text())
    assert written['states'] > 1000
    assert max(written['max_torque_rate']) > 500.0, 'N m/s; 42 at the timing of its points'
    before = {
        str(path): path.read_bytes() for path in sorted(output.rglob('*')) if path.is_file()}
    assert {name.removeprefix(f'{output}/') for name in before} == {
        'demo.png', 'bag/bag.mcap', 'bag/metadata.yaml'}
    with Bag(output / 'bag') as bag:
        assert {topic.name for topic in bag.topics} == TOPICS
        assert min(bag.topics.values()) > 1000

    second = demo('--output', str(output))
    end = time.monotonic() + 120.0
    while len(children(second.pid)) < 2 and second.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    helpers = children(second.pid)
    assert len(helpers) == 2
    assert any(path.name.startswith(UNFINISHED) for path in tmp_path.iterdir())
    second.send_signal(signal.SIGTERM)
    printed, _ = second.communicate(timeout=60)
    assert second.returncode == 143
    assert 'replaced' not in printed
    assert before == {
        str(path): path.read_bytes() for path in sorted(output.rglob('*')) if path.is_file()}
    assert {path.name for path in tmp_path.iterdir()} == {'out', 'figures.json'}


def test_an_arm_with_springs_is_fed_by_the_node(ros_environment, tmp_path):
    figures = tmp_path / 'figures.json'
    run = demo('--output', str(tmp_path / 'out'), '--json', str(figures), '--actuator', 'sea')
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    # Its weight alone would turn a spring of 1000 N m/rad by 2.5e-2 rad.
    assert max(json.loads(figures.read_text())['rms_tracking_error']) < 5e-3
