"""Runs nodes in processes of their own, on this machine only."""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import signal
import subprocess
import time

import rclpy
from rclpy.executors import Executor
from rclpy.signals import SignalHandlerOptions

from hodyn_ros.plans import child_process

STOP_TIMEOUT = 10.0  # from the signal to end until a process is killed, s
CHECK_PERIOD = 0.1  # s


@contextmanager
def local_ros() -> Iterator[None]:
    """Set ROS up for this process and its children, out of reach of the network."""
    # Nodes that run here must never reach a robot.
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield
    finally:
        rclpy.try_shutdown()


@contextmanager
def process(
    namespace: str, module: str, *parameters: str,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of `hodyn_ros.ros` as a node, until the context, or the calling thread, ends.

    Parameters are written ``name:=value``.
    """
    arguments = [word for parameter in parameters for word in ('-p', parameter)]
    running = child_process.start(
        f'hodyn_ros.ros.{module}', '--ros-args', '-r', f'__ns:={namespace}',
        '--log-level', 'warn', *arguments, end_signal=signal.SIGTERM)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def spin(
    executor: Executor,
    seconds: float,
    meanwhile: Callable[[], None] = lambda: None,
    until: Callable[[], bool] = lambda: False,
) -> bool:
    """Spin for some seconds, or until `until` returns True; return the last result of `until`.

    `meanwhile` is called about every `CHECK_PERIOD`, and may raise.
    """
    end = time.monotonic() + seconds
    check = 0.0
    while not (done := until()) and (now := time.monotonic()) < end:
        executor.spin_once(timeout_sec=min(CHECK_PERIOD, end - now))
        if now >= check:
            meanwhile()
            check = now + CHECK_PERIOD
    return done
