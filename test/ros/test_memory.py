"""What is refused leaves nothing behind."""
from pathlib import Path

from live_motions import NOW
import pytest
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.live


def memory(node) -> int:
    """Return the resident memory of a node, kB."""
    text = Path(f'/proc/{node.process.pid}/status').read_text()
    return int(text.split('VmRSS:')[1].split()[0])


def test_refused_plans_and_samples_do_not_fill_the_memory(live, home):
    node = live()
    node.first_answer(NOW, home)
    stream = node.publisher(JointState, '/feedforward/reference')
    sizes = []
    for part in range(24):
        for k in range(250):
            names = [f'never_{part}_{k}_{i}' for i in range(7)]
            for _ in range(8):
                stream.publish(JointState(name=names, position=home))
            node.send_trajectory((1.0, home), names=names)
            node.spin(0.004)
        assert node.answer(NOW + 0.01 * (part + 1), home) is not None
        sizes.append(memory(node))
    print(sizes)
    assert 0
