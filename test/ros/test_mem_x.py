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
    import sys
    code='''
import tracemalloc, threading, time, sys, gc
tracemalloc.start(8)
def watch():
    time.sleep(60)
    a=tracemalloc.take_snapshot()
    time.sleep(15)
    gc.collect(); b=tracemalloc.take_snapshot()
    print('TOTAL', sum(s.size_diff for s in b.compare_to(a,'filename')), flush=True)
    for s in b.compare_to(a,'traceback')[:6]:
        print('LEAK', s.size_diff, s.count_diff, flush=True)
        for l in s.traceback.format()[-12:]: print('LEAK', l, flush=True)
threading.Thread(target=watch,daemon=True).start()
from hodyn_ros.ros.feedforward_node import main
main()
'''
    node = live(command=[sys.executable,'-c',code,'--ros-args','-p','state_timeout:=60.0','-p','max_time_step:=0.5','-p','tracking_tolerance:=[-1.0]'])
    node.first_answer(NOW, home)
    stream = node.publisher(JointState, '/feedforward/reference')
    sizes = []
    for part in range(70):
        for k in range(250):
            names = [f'never_{part}_{k}_{i}' for i in range(7)]
            node.send_trajectory((1.0, home), names=names)
            node.spin(0.004)
        assert node.answer(NOW + 0.01 * (part + 1), home) is not None
        sizes.append(memory(node))
    node.spin(9.0); print(sizes); print(chr(10).join(l for l in node.log.splitlines() if 'LEAK' in l or 'TOTAL' in l))
    assert 0
