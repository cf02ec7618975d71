"""Compiles what the real-time controller needs before it is needed."""
import itertools

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings, FeedforwardController
from hodyn_ros.reference.stop import move_plan
from hodyn_ros.robot import HodynError


def warm_up(feedforward: FeedForward, options: ControllerSettings) -> None:
    """Run every code path of a controller once so that all kernels are compiled.

    Raises HodynError when the torques at zero position are not finite.
    """
    position = np.zeros(feedforward.robot.n)
    controller = FeedforwardController(feedforward, position, 0, options)
    measured = np.zeros((2, feedforward.robot.n))
    moments = itertools.count(0, 1_000_000)

    def evaluate() -> None:
        controller.evaluate(next(moments), measured)
        if not controller.is_finite:
            raise HodynError(
                f'robot {feedforward.robot.name!r}: the torques at zero position are not finite')

    evaluate()
    controller.reference.follow(move_plan(position, position + 1e-3, 0.1), 0)
    controller.set_external_wrench(0, np.zeros(6))
    if controller.motors is not None:
        controller.set_stiffness(controller.motors.actuators.constant_stiffness()[0])
    evaluate()
    controller.replace(feedforward, next(moments))
    evaluate()
    controller.stop(next(moments))
    evaluate()
    controller.reference.set_target(next(moments), position)
    evaluate()
    controller.reference.set_target(next(moments), position, position)
    evaluate()
    controller.reset_clock(next(moments))
    controller.fade_out(next(moments))
    evaluate()
