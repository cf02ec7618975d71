"""The pictures of a report, drawn by several processes if there are several cores."""
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
import io
import multiprocessing
from multiprocessing.connection import wait
import os
import signal
import sys
import threading

from hodyn_ros.common.jit import threads
from hodyn_ros.replay import plots
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.robot import Robot

_Draw = Callable[[int], bytes]
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_draw: _Draw  # set in each drawing process, which inherits the data by fork


def pictures(result: Replay, robot: Robot) -> list[tuple[str, str, bytes]]:
    """Return name, title and PNG of each picture of a replay."""
    plotted = [
        ('torque', 'Predicted and recorded effort', partial(plots.torque_figure, result)),
        ('friction', 'Friction and residual over velocity',
         partial(plots.friction_figure, result, robot)),
        ('torque_rates', 'Torque rates, with bands of two standard deviations',
         partial(plots.rate_figure, result)),
        ('spectrum', 'Spectrum of prediction minus recorded effort',
         partial(plots.spectrum_figure, result)),
    ]

    def draw(order: int) -> bytes:
        buffer = io.BytesIO()
        plotted[order][2]().savefig(
            buffer, format='png', dpi=110, pil_kwargs={'compress_level': 3})
        return buffer.getvalue()

    return [(name, title, drawn) for (name, title, _), drawn in zip(
        plotted, _drawn(draw, len(plotted)), strict=True)]


def _drawn(draw: _Draw, count: int) -> list[bytes]:
    orders = range(count)
    # With other threads, the fork may wait for ever for a lock that one of them holds.
    if threads() > 1 and sys.platform == 'linux' and threading.active_count() == 1:
        try:
            with ProcessPoolExecutor(
                    min(threads(), count), multiprocessing.get_context('fork'),
                    _begin, (draw,)) as pool:
                # A signal while the processes start would be lost, or leave them waiting.
                mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
                try:
                    drawn = [pool.submit(_draw_one, order) for order in orders]
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                try:
                    return [picture.result() for picture in drawn]
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
        except (BrokenProcessPool, OSError):
            pass  # no memory for the processes, or they were killed
    return [draw(order) for order in orders]


def _begin(draw: _Draw) -> None:
    global _draw
    _draw = draw
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the processes
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process if its parent was killed, which leaves it waiting for work."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _draw_one(order: int) -> bytes:
    return _draw(order)
