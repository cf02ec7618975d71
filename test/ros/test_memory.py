"""What is refused leaves nothing behind."""
from pathlib import Path

from live_motions import NOW
import pytest
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.live

# kB that a process may grow by for other reasons in a part; it grew by 480.
OTHER = 150


def resident(node) -> int:
    """Return the memory of a node's process, kB."""
    text = Path(f'/proc/{node.process.pid}/status').read_text('utf-8')
    return int(text.split('VmRSS:')[1].split()[0])


def test_refused_plans_and_samples_leave_nothing_behind(live, home):
    node = live(own=True)
    node.first_answer(NOW, home)
    stream = node.publisher(JointState, '/feedforward/reference')
    sizes = []
    for part in range(4):
        for k in range(250):
            names = [f'never_{part}_{k}_{i}' for i in range(7)]
            stream.publish(JointState(name=names, position=home))
            node.send_trajectory((1.0, home), names=names)
            node.spin(0.004)
        assert node.answer(NOW + 0.01 * (part + 1), home) is not None
        sizes.append(resident(node))
    assert "among the names 'never_" in node.log
    # The first parts fill what is kept of the log.
    assert sizes[-1] - sizes[1] < 2 * OTHER, sizes
