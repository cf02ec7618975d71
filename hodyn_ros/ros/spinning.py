"""Runs a node until a signal, so that it can still publish when the signal comes."""
from collections.abc import Callable, Sequence
import gc
import signal
import traceback
from types import FrameType
from typing import TypeVar

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from hodyn_ros.robot import HodynError
from hodyn_ros.ros.diagnostics import printable

SPIN_TIMEOUT = 0.1


class StopFlag:
    """Set by SIGINT and SIGTERM, so that the loop ends while messages can still be published."""

    def __init__(self) -> None:
        self.is_set = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._set)

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True


def make_executor() -> Executor:
    """Return the events executor, or the single-threaded one where rclpy has none.

    It must be spun with a finite timeout: with an infinite one it runs no callback.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


NodeT = TypeVar('NodeT', bound=Node)


def run(
    make_node: Callable[[], NodeT],
    finish: Callable[[NodeT], None],
    argv: Sequence[str] | None = None,
) -> int:
    """Run a node until SIGINT or SIGTERM, then finish it; return the exit code.

    A HodynError of the node's construction, wrong parameters say, is logged and gives 2.
    """
    rclpy.init(
        args=None if argv is None else list(argv),
        signal_handler_options=SignalHandlerOptions.NO)
    stop = StopFlag()
    try:
        try:
            node = make_node()
        except HodynError as error:
            rclpy.logging.get_logger('hodyn').fatal(str(error))
            return 2
        executor = make_executor()
        executor.add_node(node)
        while not stop.is_set:
            _spin_once(executor, node)
        finish(node)
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_node()
        # Shared memory is given back only when nothing refers to the context any more.
        del node, executor
        gc.collect()
    finally:
        context = rclpy.get_default_context()
        rclpy.try_shutdown()
        context.destroy()
    return 0


def _spin_once(executor: Executor, node: Node) -> None:
    """Run what is due; an error outside the callbacks that the node guards is logged and left.

    A message that cannot even be taken is one, and a failure of a service.
    """
    try:
        executor.spin_once(timeout_sec=SPIN_TIMEOUT)
    except ExternalShutdownException:
        raise
    except Exception:
        node.get_logger().error(
            printable(traceback.format_exc(), keep='\n'), throttle_duration_sec=1.0)
