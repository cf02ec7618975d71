"""What is asked of a cycle, and how long and how far things may be away."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ControllerSettings:
    """What a cycle computes.

    Attributes
    ----------
    gravity_in_output, friction_in_output : bool
        Whether the output contains these terms.
    limit_output : bool
        Whether the output keeps the effort and effort-rate limits themselves, not only by
        `limit_margin`.
    at_measurement : bool
        Evaluate at the measured position and velocity (computed torque), not at the reference's.
    bandwidth : float
        Bandwidth of the filter of streamed references, rad/s.
    wrench_bandwidth : float
        Bandwidth of the filter of measured external wrenches, rad/s.
    limit_margin : float
        Fraction of the effort and effort-rate limits by which they may be passed.
    fade : float
        Least time in which the output changes to another value, s.

    """

    gravity_in_output: bool = True
    friction_in_output: bool = True
    limit_output: bool = False
    at_measurement: bool = False
    bandwidth: float = 50.0
    wrench_bandwidth: float = 50.0
    limit_margin: float = 0.05
    fade: float = 0.5


@dataclass(frozen=True, eq=False)
class SupervisorSettings:
    """How long and how far things may be away; see docs/node.md, *Parameters*.

    Attributes
    ----------
    controller : ControllerSettings
        What a cycle computes.
    tracking_tolerance : (n,) array
        How far each joint may be away from the reference, rad or m.
    lookahead, max_time_step, state_timeout, stream_delay, stream_timeout, wrench_timeout : float
        As the parameters, s.
    max_force, max_moment : float
        As the parameters, N, N m.
    base_timeout, base_acceleration_bandwidth : float
        As the parameters, s, rad/s.

    """

    controller: ControllerSettings
    tracking_tolerance: Array
    lookahead: float = 0.0
    max_time_step: float = 0.01
    state_timeout: float = 0.0
    stream_delay: float = 0.0
    stream_timeout: float = 0.1
    wrench_timeout: float = 0.1
    max_force: float = 200.0
    max_moment: float = 50.0
    base_timeout: float = 0.0
    base_acceleration_bandwidth: float = 0.0
