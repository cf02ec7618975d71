"""Compiles the kernels of the real-time controller before they are needed."""
from collections.abc import Callable
import contextlib
from dataclasses import replace
import importlib.util
import itertools

import numpy as np

from hodyn_ros.common.jit import is_kept
from hodyn_ros.dynamics.kernels import articulated_body
from hodyn_ros.dynamics.kernels.unrolled import spatial
from hodyn_ros.feedforward import ORDER, FeedForward
from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback
from hodyn_ros.feedforward.motion_limits import motion_limits
from hodyn_ros.feedforward.moving_base import FollowedBase, write_base_motion, write_base_wrench
from hodyn_ros.feedforward.output_curve import go_over
from hodyn_ros.feedforward.plausible_state import PERSISTENCE, PlausibleState
from hodyn_ros.feedforward.settings import ControllerSettings
from hodyn_ros.reference import Plan
from hodyn_ros.reference.limits import MotionLimits
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.reference.stream import Stream
from hodyn_ros.robot import HodynError


def warm_up(
    feedforward: FeedForward, options: ControllerSettings,
    wait: Callable[[], object] = lambda: None,
) -> None:
    """Run every code path of a controller once so that all kernels are compiled.

    `wait` is called before the first batch of motions: it waits until the process that prepares
    plans has compiled the kernels for batches and left them on disk. Raises HodynError if the
    torques at zero position are not finite.
    """
    position = np.zeros(feedforward.robot.n)
    controller = FeedforwardController(feedforward, position, 0, options)
    measured = np.zeros((2, feedforward.robot.n))
    moments = itertools.count(0, 1_000_000)

    def evaluate() -> None:
        controller.evaluate(next(moments), measured)
        if not controller.may_be_published:
            raise HodynError(
                f'robot {feedforward.robot.name!r}: the torques at zero position are not finite')

    evaluate()
    if options.motor_feedback is not None:
        motors = np.zeros((2, options.motor_feedback.bound.size))
        with contextlib.suppress(HodynError):  # springs may be too weak, but kernels are compiled
            FlatnessFeedback(feedforward.robot).motor_torque(
                controller.q, measured, motors, ahead=1e-3)
    # Without Ruckig, streams are refused when they come.
    has_streams = importlib.util.find_spec('ruckig') is not None
    if has_streams:
        _warm_up_streams(motion_limits(feedforward), options.bandwidth)
    controller.set_external_wrench(0, np.zeros(6))
    controller.set_base(np.eye(3), np.zeros((ORDER + 2, 6)))
    evaluate()
    if feedforward.is_floating:
        values = np.zeros((2, 5, 12))
        values[:, 0, :9] = np.eye(3).ravel()
        controller.follow_base(FollowedBase(
            Plan.hermite(np.array([0.0, 1.0]), values, 'base'), 0))
        evaluate()
        controller.follow_base(None)
        evaluate()
    wait()
    knots = np.zeros((2, 5, position.size))
    knots[:, 0] = position, position + 1e-3
    controller.reference.follow(Plan.hermite(np.array([0.0, 0.1]), knots, 'global'), 0)
    if controller.motors is not None:
        controller.set_stiffness(controller.motors.actuators.constant_stiffness()[0])
    evaluate()
    controller.replace(feedforward)
    evaluate()
    controller.stop(next(moments))
    evaluate()
    controller.latch(position)
    for velocity in (None, position + 1e-3) if has_streams else ():
        now = next(moments)
        controller.stream(now, position + 1e-3, velocity, now + 1_000_000)
        evaluate()
    controller.drop_wrenches()
    evaluate()
    controller.within_range(position)
    plausible = PlausibleState(feedforward.robot)
    for now in range(PERSISTENCE + 1):  # the last one is compared with the place of the others
        plausible.is_nowhere(position)
        plausible.believe(position, position, now, lambda there: True)


def _warm_up_streams(limits: MotionLimits, bandwidth: float) -> None:
    """Compile the kernels of streams; effort limits, which need kernels for batches, are off."""
    limits = replace(limits, effort_ratio=lambda motion: 0.0)
    position = np.zeros(limits.lower.size)
    stream = Stream(position, 0, bandwidth, limits)
    state = np.empty((5, position.size))
    for now, velocity in enumerate((None, position + 1e-3)):
        stream.set_target(now, position + 1e-3, velocity, now + 1_000_000, limits)
        stream.evaluate(now, state)
    SmoothingFilter(position, bandwidth).advance(1e-3)


def is_warm(*, is_floating: bool = False, feeds_back: bool = False) -> bool:
    """Return whether an earlier warm-up has left its compiled kernels on disk.

    `is_floating` includes the kernels for a floating base, `feeds_back` those for full-state
    feedback.
    """
    # Other commands may compile the first kernels; only a complete warm-up compiles the last.
    of_base = (
        spatial.floating(ORDER, 1), write_base_motion, write_base_wrench) if is_floating else ()
    of_feedback = (articulated_body.hybrid_dynamics,) * feeds_back
    return all(map(is_kept, (
        spatial.single(2), spatial.batch(2), *of_base, *of_feedback, go_over)))
