"""The motor side of a plan against the limits of motors and springs."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]

MOTOR_QUANTITIES = ('motor_velocity', 'motor_effort', 'deflection')
ROUNDS = 3


def motor_values(
    plan: Plan, feedforward: FeedForward, instants: Array, stretch: float = 1.0,
) -> tuple[Array, Array]:
    """Return θ̇, τ_m and the springs' elongations, (T, 3, m), and the laws' margins, (T, n).

    They are those of the plan run `stretch` times slower, at its own instants. Variable joints
    keep the stiffness of their actuators. The robot must have actuators.
    """
    if feedforward.motor_side is None:
        raise HodynError(f'robot {feedforward.robot.name!r} has no actuators')
    motion: Array = plan.evaluate(instants)
    motion *= (stretch ** -np.arange(5.0))[:, None]
    reference, elongation, margin = feedforward.motor_side.sample(
        motion, feedforward.torque(motion))
    return np.stack([reference[:, 1], reference[:, 3], elongation], axis=1), margin


def motor_peaks(
    plan: Plan, feedforward: FeedForward, instants: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return the largest values by size, (3, m), and the least margins, (n,), each with its times.

    Sampled at the instants, (T,), and refined around the largest.
    """
    values, margin = motor_values(plan, feedforward, instants)
    places = np.abs(values).argmax(axis=0)
    peaks = np.take_along_axis(values, places[np.newaxis], axis=0)[0]
    times = instants[places]
    reach = np.diff(instants).max() if instants.size > 1 else 0.0
    quantity, motor = (index.ravel() for index in np.indices(peaks.shape))
    rows = np.arange(peaks.size)
    for _ in range(ROUNDS if reach else 0):
        around = np.clip(
            times.ravel()[:, None] + reach * np.linspace(-1.0, 1.0, 9), plan.times[0],
            plan.times[-1])
        near = motor_values(plan, feedforward, around.ravel())[0]
        signal = near.reshape(*around.shape, *peaks.shape)[rows, :, quantity, motor]
        best = np.abs(signal).argmax(axis=1)
        peaks, times = signal[rows, best].reshape(peaks.shape), around[rows, best].reshape(
            peaks.shape)
        reach /= 4.0
    lowest = margin.argmin(axis=0)
    return peaks, times, margin[lowest, np.arange(margin.shape[1])], instants[lowest]
