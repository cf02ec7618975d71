"""What a user may have of the system, and what is asked of it; the system is made up: fast."""
import gc
import os
import resource
import struct
import sys

import pytest

from hodyn_ros.ros import realtime


@pytest.mark.parametrize(('user', 'limits', 'priority'), [
    (0, (0, 0), True), (1000, (60, 0), True), (1000, (99, 99), True), (1000, (59, 99), False),
    (1000, (0, 99), False)])
@pytest.mark.parametrize('awake', [True, False])
def test_who_may_is_given_what_makes_a_node_real_time(
        monkeypatch, tmp_path, user, limits, priority, awake):
    latency = tmp_path / 'latency'
    if awake:
        latency.touch()
    monkeypatch.setattr(realtime, 'LATENCY', str(latency))
    monkeypatch.setattr(os, 'geteuid', lambda: user)
    monkeypatch.setattr(
        resource, 'getrlimit', lambda which: limits if which == resource.RLIMIT_RTPRIO else None)
    assert realtime.permitted() == [
        *(['realtime_priority:=60'] if priority else []),
        *(['keep_awake:=true'] if awake else [])]


def test_processors_are_kept_awake_until_that_ends(monkeypatch, tmp_path):
    latency = tmp_path / 'latency'
    latency.touch()
    monkeypatch.setattr(realtime, 'LATENCY', str(latency))
    lines = []
    end = realtime.keep_awake(lines.append)
    # No latency at all, as the kernel reads it, while the file is open.
    assert latency.read_bytes() == struct.pack('i', 0)
    opened = {os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')
              if os.path.islink(f'/proc/self/fd/{fd}')}
    assert str(latency) in opened
    end()
    end()
    assert lines == []


def test_what_the_collector_is_spared_is_given_back():
    before, interval = gc.get_freeze_count(), sys.getswitchinterval()
    try:
        realtime.freeze_gc()
        assert gc.get_freeze_count() > before
        assert sys.getswitchinterval() == pytest.approx(realtime.SWITCH_INTERVAL)
        realtime.unfreeze_gc()
        assert gc.get_freeze_count() == 0
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval)
