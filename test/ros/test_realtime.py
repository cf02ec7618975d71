"""What is asked of the system, and what is said when it refuses."""
import json
import os

from processes import printed_by
import pytest

pytestmark = pytest.mark.slow

# In a process of its own, as who runs the tests, or as somebody whom nothing is granted.
ASK = """
import json, os, resource, sys, threading, time
from hodyn_ros.ros import realtime
if sys.argv[1] == 'nobody':
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(limit, (0, 0))
    if os.getuid() == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
beside = threading.Thread(target=time.sleep, args=(30.0,), daemon=True)
beside.start()
lines = []
before = sorted(os.sched_getaffinity(0))
cpu = before[0]
realtime.apply(lines.append, priority=20, lock_memory=True, cpus=[-1, cpu])
realtime.apply(lines.append, priority=0, lock_memory=False, cpus=[4096])
end = realtime.keep_awake(lines.append)
end()
end()
print(json.dumps({
    'lines': lines, 'cpus': sorted(os.sched_getaffinity(0)), 'cpu': cpu,
    'policy': os.sched_getscheduler(0), 'beside': os.sched_getscheduler(beside.native_id),
    'cpus_beside': sorted(os.sched_getaffinity(beside.native_id)), 'before': before}))
"""


def ask(who: str) -> dict:
    return json.loads(printed_by(ASK, who))


def test_each_wish_is_met_or_refused_in_one_line():
    found = ask('myself')
    assert found['cpus'] == [found['cpu']]
    refused = [line.split(':')[0] for line in found['lines']]
    assert 'cpu_affinity [4096]' in refused
    fifo = found['policy'] & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    assert fifo != ('realtime_priority 20' in refused)
    # Other threads of Python, and the processes that they start, stay as they were.
    assert found['beside'] == os.SCHED_OTHER
    assert found['cpus_beside'] == found['before']


def test_who_may_not_is_told_what_to_do():
    lines = ask('nobody')['lines']
    assert [line.split(':')[0] for line in lines] == [
        'realtime_priority 20', 'lock_memory', 'cpu_affinity [4096]', 'keep_awake']
    assert all('not permitted' in lines[k] for k in (0, 1, 3))
    assert 'rtprio limit' in lines[0]
    assert 'memlock' in lines[1]
    assert 'this process may use processors' in lines[2]
    assert '/dev/cpu_dma_latency' in lines[3]


LOG = """
import inspect, os
from rclpy.logging import get_logger
import hodyn_ros.ros.feedforward_node
from hodyn_ros.ros import realtime
inspect.modulesbyfile[realtime.__file__] = realtime.__name__  # some import may have asked for it
looks, of = [], os.path.realpath
os.path.realpath = lambda *rest, **options: looks.append(rest) or of(*rest, **options)
counts = []
logger = get_logger('a')
for step in (realtime.warm_up_log, lambda: logger.warning('b')):
    step()
    counts.append(len(looks))
    looks.clear()
print(*counts)
"""


def test_the_first_line_of_the_log_looks_at_no_file_of_other_modules():
    warmed_up, logged = map(int, printed_by(LOG).split())
    assert logged < 20 < 0.1 * warmed_up
