"""A domain of their own for live nodes, and nodes that end with their test."""
from collections.abc import Callable, Iterator
import contextlib
import fcntl
from io import FileIO
import os
from pathlib import Path
import tempfile

import numpy as np
from processes import KILLED, USED, files_in_shared_memory, remove_unused, unused
import pytest

from hodyn_ros.robot.files import robot_keys

pytest.importorskip('rclpy', reason='rclpy is not installed: no ROS 2 here')

from live_motions import write_robot_keys
from live_node import Live
from node_process import OF_THE_START, NodeProcess, SharedNode

FAST_DISCOVERY = """<?xml version="1.0" encoding="UTF-8"?>
<profiles xmlns="http://www.eprosima.com">
  <participant profile_name="fast_discovery" is_default_profile="true">
    <rtps><builtin><discovery_config>
      <leaseDuration><sec>10</sec></leaseDuration>
      <leaseAnnouncement><sec>0</sec><nanosec>200000000</nanosec></leaseAnnouncement>
      <initialAnnouncements>
        <count>10</count><period><sec>0</sec><nanosec>50000000</nanosec></period>
      </initialAnnouncements>
    </discovery_config></builtin></rtps>
  </participant>
</profiles>
"""


def own_domain() -> tuple[int, FileIO]:
    """Return a domain that no other test run on this machine uses, and what keeps it so."""
    for k in range(90):
        domain = 10 + (os.getpid() + k) % 90
        with contextlib.suppress(OSError):
            lock = FileIO(Path(tempfile.gettempdir(), f'hodyn_ros_domain_{domain}'), 'w')
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return domain, lock
    raise AssertionError('all domains are in use')


@pytest.fixture(scope='session')
def ros_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Set up a domain of this worker's own that never leaves the machine."""
    folder = tmp_path_factory.mktemp('ros')
    profile = folder / 'discovery.xml'
    profile.write_text(FAST_DISCOVERY)
    domain, lock = own_domain()
    variables = {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_DOMAIN_ID': str(domain),
        'FASTDDS_DEFAULT_PROFILES_FILE': str(profile),
        'ROS_LOG_DIR': str(folder / 'log'),
        'ROS_PYTHON_CHECK_FIELDS': '1',
    }
    USED.clear()
    KILLED.clear()
    # What other processes use or left must stay.
    stale = files_in_shared_memory()
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    yield variables
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    lock.close()
    remove_unused(KILLED)
    assert not unused(USED) - stale, 'left in shared memory by nodes that ended in order'


@pytest.fixture(scope='session')
def shared_node(
    ros_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SharedNode]:
    """Return the node that serves most tests of this worker."""
    domain, lock = own_domain()
    node = SharedNode(tmp_path_factory.mktemp('shared'), domain)
    yield node
    node.close()
    lock.close()


@pytest.fixture
def live(
    ros_environment: dict[str, str], shared_node: SharedNode, tmp_path: Path,
) -> Iterator[Callable[..., Live]]:
    """Return a function that provides a node; its processes end with the test.

    Unless the start matters, the node is the shared one, activated with the parameters. `own` asks
    for a process of its own: for a test beside which other processes are in the same domain.
    """
    started: list[Live] = []

    def start(
        *parameters: str, joints: list[str] | None = None, ready: bool = True,
        command: list[str] | None = None, own: bool = False,
    ) -> Live:
        is_shared = ready and not own and command is None and not any(
            one.startswith(OF_THE_START) for one in parameters)
        process = shared_node.activate(*parameters) if is_shared else NodeProcess(
            tmp_path / f'node{len(started)}.log', *parameters, command=command)
        started.append(Live(process, joints or [f'fer_joint{i}' for i in range(1, 8)]))
        if ready:
            started[-1].wait_ready()
        return started[-1]

    yield start
    for one in started:
        if one.of.domain is None:
            one.close()
        else:
            one.leave()
            shared_node.rest()


@pytest.fixture
def home() -> list[float]:
    return list(np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]))


@pytest.fixture
def gentle_panda(tmp_path: Path) -> Path:
    """Return the file of a Panda that may jerk little: its stops last long enough to be seen.

    Those of the real one take some 50 ms, of which a busy machine sees next to nothing.
    """
    mapping = robot_keys('panda')
    mapping['limits']['jerk'] = [0.01 * jerk for jerk in mapping['limits']['jerk']]
    return write_robot_keys(tmp_path / 'gentle_panda.yaml', mapping)
