"""Where the compiled kernels go, which tier a test is of, and the data beside this file."""
import json
import os
from pathlib import Path
import signal
import sys

from hypothesis import settings
import pytest

DATA = Path(__file__).parent / 'data'
sys.path.append(str(Path(__file__).parents[1]))  # for `benchmarks`; what is installed comes first


def pytest_configure(config):
    # Before numba is imported; processes that the tests start inherit it.
    os.environ.setdefault(
        'NUMBA_CACHE_DIR', str(config.rootpath / '.pytest_cache' / 'kernels'))
    # Threads that spin for small matrices triple the time of tests that run beside others.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # What is tested ends by them, also where the tests run under nohup or in the background.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # How long an example takes is the machine's affair.
    if settings.default.deadline is not None:
        settings.register_profile('untimed', deadline=None)
        settings.load_profile('untimed')


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if not any(map(item.get_closest_marker, ('slow', 'live', 'siege'))):
            item.add_marker('fast')


@pytest.fixture(scope='session')
def reference():
    """Return a function that loads a file of reference numbers."""
    return lambda name: json.loads((DATA / 'reference' / name).read_text('utf-8'))


@pytest.fixture(scope='session')
def real_bag():
    """Return the recording of a real Panda."""
    bag = DATA / 'panda_exciting_trajectory'
    assert bag.is_dir(), f'no recording at {bag}'
    return bag


@pytest.fixture(scope='session')
def panda():
    """Return the built-in Panda."""
    from hodyn_ros import load_robot  # not before the folder of the kernels is set

    return load_robot('panda')


@pytest.fixture(scope='session')
def feedforward(panda):
    """Return the feed-forward of a Panda."""
    from hodyn_ros.feedforward import FeedForward

    return FeedForward(panda)


@pytest.fixture
def undrawn(monkeypatch):
    """Let reports have no pictures, which take longer than all the rest of a replay."""
    monkeypatch.setattr('hodyn_ros.replay.pictures.pictures', lambda result, robot: [])


@pytest.fixture
def hodyn(capsys):
    """Return `hodyn`, to be called with the words of a command."""
    from commands import Commands  # not before the folder of the kernels is set

    return Commands(capsys)


def pytest_terminal_summary(terminalreporter):
    """Say why tests ran twice: a first failure is looked into, too."""
    for report in terminalreporter.stats.get('rerun', []):
        terminalreporter.section(f'first run of {report.nodeid}')
        terminalreporter.write_line(report.longreprtext)
