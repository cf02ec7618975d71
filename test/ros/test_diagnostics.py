"""What the node counts."""
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest

from hodyn_ros.ros import diagnostics
from hodyn_ros.ros.diagnostics import Complaints, Durations, Monitor, level, printable


def test_cycles_longer_than_the_period_are_counted():
    monitor = Monitor()
    for work in (0.2e-3, 0.4e-3, 3e-3):
        monitor.cycle(work, 1e-3)
    monitor.cycle(3e-3, 0.0)  # the period is not known yet
    values = {value.key: value.value for value in monitor.status('', '', '', '', {}).values}
    assert values['overruns'] == '1'
    assert values['work p99 (us)'] == '3000'


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets: its `now`, s."""
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr(diagnostics, 'time', SimpleNamespace(monotonic=lambda: found.now))
    return found


def test_percentiles_are_of_the_latest_durations_by_rank():
    durations = Durations()
    assert durations.percentiles() == (0.0, 0.0)
    durations.add(3.0)
    assert durations.percentiles() == (3.0, 3.0)
    for value in np.random.default_rng(0).permutation(99):
        durations.add(float(value))
    assert durations.percentiles() == (49.0, 98.0)
    # Whatever came before the latest 4096 is forgotten, also where the memory goes round.
    for value in (*[9e9] * 3000, *np.arange(4096.0)):
        durations.add(value)
    assert durations.percentiles() == (2048.0, 4055.0)


def test_a_cause_is_news_once_in_a_second_and_each_counts(clock):
    complaints = Complaints()
    assert [complaints.add('plan', 'torn') for _ in range(3)] == [True, False, False]
    assert complaints.add('plan', 'late')
    clock.now += 0.99
    assert complaints.add('wrench', 'torn')  # two topics are two faults
    assert not complaints.add('plan', 'torn')
    clock.now += 0.01
    assert complaints.add('plan', 'torn')
    assert complaints.counts == {'plan': 6, 'wrench': 1}
    assert complaints.last == {'plan': 'torn', 'wrench': 'torn'}


def test_values_that_change_are_one_cause_and_another_joint_is_another(clock):
    """A stream beyond a limit filled the log with a line for each sample."""
    complaints = Complaints()
    texts = [f"position {2.9 + 1e-5 * k:g} of joint 'joint1' is above 2.9" for k in range(500)]
    assert [complaints.add('reference', text) for text in texts] == [True] + [False] * 499
    assert complaints.last['reference'] == texts[-1]
    assert complaints.add('reference', texts[0].replace('joint1', 'joint2'))
    assert complaints.add('reference', "position -3 of joint 'joint1' is below -2.9")
    assert complaints.add('reference', "velocity 3 of joint '1' is beyond 2")
    assert complaints.add('reference', "velocity 3 of joint '2' is beyond 2")
    assert not complaints.add('reference', "velocity -3.1e-05 of joint '2' is beyond inf")
    clock.now += 1.0
    assert complaints.add('reference', texts[1])


def test_no_sender_fills_the_log_or_the_memory_by_ever_new_causes(clock):
    complaints = Complaints()
    most = Complaints.MAX_REASONS
    news = [complaints.add('plan', f'cause c{k}') for k in range(3 * most)]
    assert news == [True] * most + [False] * 2 * most
    assert complaints.counts['plan'] == 3 * most
    assert complaints.last['plan'] == f'cause c{3 * most - 1}'
    assert complaints.is_news('', 'the torque is cut')  # the node's own word
    assert complaints.is_news('', '0.2 s are missing')
    assert complaints.is_news('', '3600 s are missing')  # more than a hold-up
    assert not complaints.is_news('', '3600 s are missing')
    # A second later there is room again.
    clock.now += 1.0
    assert complaints.add('plan', 'new')
    assert not complaints.add('plan', 'new')
    complaints.add('plan', 9999 * 'x')
    assert complaints.last['plan'] == 2000 * 'x'


def test_what_a_sender_writes_cannot_forge_lines():
    said = []
    monitor = Monitor(said.append)
    assert monitor.reject('plan', ValueError('no joint\n[INFO]: \x1b[2Jwell'))
    assert not monitor.reject('plan', 'no joint\n[INFO]: \x1b[2Jwell')
    assert said == ['plan rejected: no joint?[INFO]: ?[2Jwell']
    assert printable('a\n\tb', keep='\n') == 'a\n?b'


def test_the_report_is_of_the_time_since_the_last_one(clock):
    monitor = Monitor()
    for k in range(200):
        monitor.age.add(0.002)
        monitor.cycle(0.0005, 0.005 if k else 0.0)
    monitor.cycle(0.005, 0.005)
    monitor.received.update(plan=7, joint_states=200)
    monitor.complaints.add('plan', 'torn')
    clock.now += 2.0
    status = monitor.status('/arm', 'panda', 'holding', 'no stream', {'gaps': '3'})
    assert (status.name, status.hardware_id, status.message) == (
        '/arm', 'panda', 'holding: no stream')
    values = {value.key: value.value for value in status.values}
    assert values == {
        'state': 'holding', 'reason': 'no stream', 'rate (Hz)': '100.5', 'work p50 (us)': '500',
        'work p99 (us)': '500', 'state age p50 (us)': '2000', 'state age p99 (us)': '2000',
        'suggested lookahead (s)': '0.002500', 'cycles': '201', 'overruns': '0',
        'gaps': '3',
        'received joint_states': '200', 'received plan': '7', 'rejected plan': '1',
        'last rejected plan': 'torn'}
    assert list(values)[-4:] == [
        'received joint_states', 'received plan', 'rejected plan', 'last rejected plan']
    monitor.cycle(0.0005, 0.005)
    clock.now += 1.0
    status = monitor.status('/arm', 'panda', 'holding', '', {})
    assert status.message == 'holding'
    assert {value.key: value.value for value in status.values}['rate (Hz)'] == '1.0'


def test_no_lookahead_below_zero_is_suggested(clock):
    """Stamps of a driver whose clock is ahead."""
    monitor = Monitor()
    monitor.age.add(-0.01)
    values = {value.key: value.value for value in monitor.status('', '', '', '', {}).values}
    assert values['suggested lookahead (s)'] == '0.000000'


def test_no_lookahead_is_suggested_for_clocks_that_differ(clock):
    """It was 24 s, where the largest is 0.1 s."""
    monitor = Monitor()
    monitor.age.add(24.0)
    values = {value.key: value.value for value in monitor.status('', '', '', '', {}).values}
    assert values['suggested lookahead (s)'] == (
        'none: states are 24.000 s old when they arrive. Do driver and node use one clock?')


def test_states_of_the_node_have_their_severity():
    kinds = {state: level(state, '') for state in (
        'holding', 'following', 'streaming', 'inactive', 'fading', 'stopping', 'fault')}
    assert {state for state, kind in kinds.items() if kind == DiagnosticStatus.OK} == {
        'holding', 'following', 'streaming', 'inactive'}
    assert kinds['fading'] == kinds['stopping'] == DiagnosticStatus.WARN
    assert kinds['fault'] == DiagnosticStatus.ERROR
    assert level('holding', 'pushed') == DiagnosticStatus.WARN
