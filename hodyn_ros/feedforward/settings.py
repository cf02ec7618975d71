"""Settings of the controller's cycle, and timeouts and tolerances of the supervisor."""
from collections.abc import Sequence
from dataclasses import dataclass

from hodyn_ros.common.arrays import Array


def longest_end(fade: float) -> float:
    """Return the longest time in which a motion comes to rest and the output fades, s.

    Limits may slow the fade to more than `fade`.
    """
    return 60.0 + 4.0 * fade


@dataclass(frozen=True, eq=False)
class MotorFeedbackSettings:
    """Settings of the full-state feedback of elastic arms, see `MotorFeedback`."""

    poles: float  #: ω of the poles, all at −ω, rad/s
    bound: Array  #: (m,): largest correction of each motor's torque, N m
    #: (2, m): gains of the driver's motor loop by position and velocity, N m/rad and N m s/rad
    loop: Array


@dataclass(frozen=True)
class ControllerSettings:
    """Settings of the controller's cycle."""

    #: `gravity_in_output`, `friction_in_output`: Whether the output contains these terms
    gravity_in_output: bool = True
    friction_in_output: bool = True
    #: Whether output and motors keep their limits; else they may exceed them by `limit_margin`
    limit_output: bool = False
    #: Whether to evaluate at the measured position and velocity (computed torque) instead of the
    #: reference's
    at_measurement: bool = False
    bandwidth: float = 50.0  #: Bandwidth of the filter of streamed references, rad/s
    wrench_bandwidth: float = 50.0  #: Bandwidth of the filter of measured external wrenches, rad/s
    #: Fraction by which limits of effort, effort rate, motors and deflection may be exceeded
    limit_margin: float = 0.05
    fade: float = 0.5  #: Least duration of a change of the output to another value, s
    #: Settings of the full-state feedback; None for none
    motor_feedback: MotorFeedbackSettings | None = None


@dataclass(frozen=True, eq=False)
class SupervisorSettings:
    """Timeouts and tolerances; see docs/node.md, *Parameters*."""

    controller: ControllerSettings  #: Settings of the cycle
    tracking_tolerance: Array  #: (n,): how far each joint may be from the reference, rad or m
    #: `lookahead`, `max_time_step`, `state_timeout`, `stream_delay`, `stream_timeout`,
    #: `wrench_timeout`: The parameters of these names, s
    lookahead: float = 0.0
    max_time_step: float = 0.01
    state_timeout: float = 0.0
    stream_delay: float = 0.0
    stream_timeout: float = 0.1
    wrench_timeout: float = 0.1
    #: `max_force`, `max_moment`: The parameters of these names, N and N m
    max_force: float = 200.0
    max_moment: float = 50.0
    #: `base_timeout`, `base_acceleration_bandwidth`: The parameters of these names, s and rad/s
    base_timeout: float = 0.0
    base_acceleration_bandwidth: float = 0.0
    #: Whether a simulator sets the clock: a reset may set the clock back and move the arm at once
    is_simulated: bool = False
    #: (4,) array or sequence: the parameter of this name: m, rad, m/s, rad/s
    base_tolerance: Sequence[float] = (0.1, 0.05, 0.2, 0.2)
