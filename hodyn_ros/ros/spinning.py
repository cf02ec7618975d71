"""Runs a node until a signal comes, and lets it publish what it still has to."""
import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
import gc
import os
import select
import signal
import threading
import time
import traceback
from types import FrameType
from typing import TypeVar

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from hodyn_ros.robot import HodynError
from hodyn_ros.ros.diagnostics import printable
from hodyn_ros.ros.executables import end_signals

SPIN_TIMEOUT = 0.1  # s
GRACE = 1.0  # time for the main thread to notice a signal before the process is ended, s
END_TIMEOUT = 4.0  # additional time for the end itself, on a busy machine, s
PATIENCE = 1.0  # time after a signal in which further ones are ignored, s
POLL = 0.05  # period of checks after a signal, s
_BINDING = os.path.join('llvmlite', 'binding')  # where numba calls LLVM
# What to do about errors of ROS, by words in their messages.
_HINTS = {
    'Sequence should be of same type':
        'a list has numbers with and without a point; write 0.0 for 0: ',
    'Error parsing a': 'in lists, write texts with a colon in quotes, as ["a:b"]: ',
    "remap rule: '-r __ns:=": 'a namespace begins with /: ',
    'error not set': 'with ROS_SECURITY_ENABLE, check ROS_SECURITY_KEYSTORE and the enclave: ',
    'security libraries': 'unset ROS_SECURITY_ENABLE, or use a ROS 2 with SROS: '}


class Interrupted(BaseException):
    """Raised in the main thread by a signal when nothing needs an orderly end."""


class StopFlag:
    """Set by the signals that end a process, so that its loop ends while it can still publish.

    While nothing moves, a signal raises `Interrupted` in the main thread and so interrupts its
    work, such as loading a robot. If the main thread does not react within `GRACE`, for example
    while it compiles, the process ends anyway. While something moves, a signal only sets the flag;
    a second one, `PATIENCE` later or more, raises `Interrupted`.
    """

    def __init__(self) -> None:
        self.is_set = False  #: Whether a signal has come
        #: Whether something needs an orderly end; always True unless replaced
        self.is_moving: Callable[[], bool] = lambda: True
        #: 0, or 128 plus the number of the signal that cut an orderly end short
        self.exit_code = 0
        self._set_at = 0.0
        self._ends = self._is_put_off = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        # The interpreter writes to this pipe at once, whatever the main thread does.
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, daemon=True).start()
        self._before = {
            number: signal.signal(number, self._set)
            for number in end_signals()}

    def begin_end(self) -> None:
        """Note that the main thread has noticed the signal, and ends now."""
        self._ends, self._is_put_off, self.is_moving = True, False, lambda: False

    def close(self, *, at_end: bool = False) -> None:
        """Restore the previous signal handlers, except `at_end` after a signal.

        Further signals are then ignored: they would turn the orderly end into a failure.
        """
        if self.is_set:
            atexit.register(_ignore_signals)  # while the interpreter ends
        if not (self.is_set and at_end):
            for number, handler in self._before.items():
                signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self._writer)

    def _set(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        is_first, self.is_set = not self.is_set or self._is_put_off, True
        if is_first:
            self._set_at = now
            is_moving = self.is_moving()
            # Where an exception would be lost or do harm, `_watch` repeats the signal.
            self._is_put_off = not is_moving and _bears_no_exception(frame)
            if not is_moving and not self._is_put_off:
                raise Interrupted
        elif self.is_moving() and now - self._set_at > PATIENCE:
            # A terminal and a launcher may both pass on one Ctrl-C, which counts as one signal.
            self.exit_code = 128 + number
            self.begin_end()
            raise Interrupted

    def _watch(self) -> None:
        """End the process if the main thread does not react to a signal in time."""
        number, deadline = 0, 0.0
        while True:
            if select.select([self._reader], [], [], POLL if number else None)[0]:
                received = os.read(self._reader, 1)
                if not received:
                    os.close(self._reader)
                    return
                number = number or received[0]
                deadline = deadline or time.monotonic() + GRACE
            elif self.is_moving():
                deadline = time.monotonic() + GRACE
            elif time.monotonic() > deadline + (
                    END_TIMEOUT if self._ends or self._is_put_off else 0.0):
                os._exit(128 + number)
            elif self._is_put_off:
                signal.pthread_kill(threading.main_thread().ident or 0, number)


def _ignore_signals() -> None:
    for number in end_signals():
        signal.signal(number, signal.SIG_IGN)


def _bears_no_exception(frame: FrameType | None) -> bool:
    """Whether the frame is within a finalizer, a callback of LLVM, or its binding.

    A finalizer or callback would lose the exception. In the binding, whose objects note after a
    call that LLVM owns their memory now, it would let them release this memory a second time.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name.startswith(('_raw_object_cache', '__del__')) or (
                _BINDING in code.co_filename):
            return True
        frame = frame.f_back
    return False


@contextmanager
def until_signal(argv: Sequence[str] | None) -> Iterator[StopFlag]:
    """Set ROS up for this process until the end of the context, or until it is `Interrupted`.

    Raises HodynError for a command line that ROS does not understand.
    """
    try:
        rclpy.init(
            args=None if argv is None else list(argv),
            signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        where = 'parameter file' if 'params file' in str(error) else 'command line'
        raise HodynError(f'{where}: {_with_hint(error)}') from None
    stop = StopFlag()
    stop.is_moving = lambda: False
    try:
        yield stop
    except Interrupted as interruption:
        traceback.clear_frames(interruption.__traceback__)
    finally:
        stop.begin_end()
        # Shared memory is released only when nothing refers to the context any more.
        gc.collect()
        context = rclpy.get_default_context()
        rclpy.try_shutdown()
        context.destroy()
        stop.close(at_end=True)


def _with_hint(error: RuntimeError) -> str:
    return ''.join(hint for words, hint in _HINTS.items() if words in str(error)) + str(error)


def make_executor() -> Executor:
    """Return the events executor, or the single-threaded one if rclpy has no events executor.

    Spin it with a finite timeout: with an infinite one it runs no callback.
    """
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


@contextmanager
def executor_of(node: Node) -> Iterator[Executor]:
    """Provide an executor for a node; both are destroyed with the context, also after an error.

    If they were left until the interpreter ends, they would leave shared memory behind.
    """
    executor = make_executor()
    executor.add_node(node)
    try:
        yield executor
    finally:
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_node()


def spin_once(executor: Executor, node: Node, timeout: float = SPIN_TIMEOUT) -> None:
    """Run the callbacks that are due; log errors that the node does not catch, and go on.

    Such errors come from messages that cannot be taken, and from services that fail.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except ExternalShutdownException:
        raise
    except Exception:
        node.get_logger().error(
            printable(traceback.format_exc(), keep='\n'), throttle_duration_sec=1.0)


NodeT = TypeVar('NodeT', bound=Node)


def run(
    make_node: Callable[[], NodeT],
    is_moving: Callable[[NodeT], bool],
    finish: Callable[[NodeT], None],
    argv: Sequence[str] | None = None,
    step: Callable[[Executor, NodeT], None] = spin_once,
) -> int:
    """Run a node, step by step, until a signal ends it; return the exit code.

    A moving node is brought to an orderly end by `finish`. A HodynError of `make_node`, such as
    for wrong parameters, or an error of ROS is logged and gives 2.
    """
    with until_signal(argv) as stop:
        try:
            node = make_node()
        except HodynError as error:
            rclpy.logging.get_logger('hodyn').fatal(str(error))
            return 2
        except rclpy_implementation.RCLError as error:
            rclpy.logging.get_logger('hodyn').fatal(' '.join(_with_hint(error).split()))
            return 2
        stop.is_moving = partial(is_moving, node)
        with executor_of(node) as executor:
            try:
                while not stop.is_set:
                    step(executor, node)
                finish(node)
            finally:
                stop.begin_end()
        del node, executor
    return stop.exit_code
