"""How joint_trajectory_controller follows annotated plans: its torque and the exact one.

The controller interpolates the efforts of a trajectory linearly, and positions, velocities and
accelerations by polynomials of degree 5 (`Trajectory::interpolate_between_points` of
ros2_controllers 6). Between samples h apart a straight line misses Q by up to h²/8 |Q̈|. With the
command interfaces position and effort, the effort also comes a cycle late, which is an error of Q̇
times the period; with only the interface effort it does not.

Run it by ``python examples/jtc_feedforward.py [FIGURE]``.
"""
import sys

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import hodyn_ros as hd
from hodyn_ros.common import plot_style
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.annotate import annotate
from hodyn_ros.reference import Plan, fit_plan

Array = NDArray[np.float64]

PERIODS = (1e-3, 5e-3, 20e-3)
UPDATE_PERIOD = 1e-3


def jtc_efforts(times: Array, efforts: Array, instants: Array) -> Array:
    """Return the controller's efforts (K, n) at instants (K,), from samples (T, n)."""
    return np.column_stack([np.interp(instants, times, column) for column in efforts.T])


def jtc_positions(times: Array, motion: Array, instants: Array) -> Array:
    """Return the controller's positions (K, n), from samples of q, q̇ and q̈ (T, 3, n)."""
    left = np.clip(np.searchsorted(times, instants, side='right') - 1, 0, times.size - 2)
    length = (times[left + 1] - times[left])[:, None]
    t = (instants - times[left])[:, None]
    q0, v0, a0 = np.moveaxis(motion[left], 1, 0)
    q1, v1, a1 = np.moveaxis(motion[left + 1], 1, 0)
    v0, v1, a0, a1, s = v0 * length, v1 * length, a0 * length**2, a1 * length**2, t / length
    return (
        q0 + v0 * s + 0.5 * a0 * s**2
        + 0.5 * (-20 * q0 + 20 * q1 - 3 * a0 + a1 - 12 * v0 - 8 * v1) * s**3
        + 0.5 * (30 * q0 - 30 * q1 + 3 * a0 - 2 * a1 + 16 * v0 + 14 * v1) * s**4
        + 0.5 * (-12 * q0 + 12 * q1 - a0 + a1 - 6 * v0 - 6 * v1) * s**5)


def example_plan() -> Plan:
    """Return a lively motion of the Panda through four points."""
    home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    points = home + np.array([
        [0.0] * 7, [0.5, 0.3, -0.3, 0.4, 0.5, 0.3, 0.6], [-0.4, 0.5, 0.4, -0.2, -0.4, 0.6, -0.5],
        [0.2, 0.1, 0.2, 0.3, 0.2, 0.2, 0.3]])
    return fit_plan(np.array([0.0, 0.8, 1.7, 2.4]), points)


def main(path: str = 'jtc_feedforward.png') -> None:
    """Print the errors for samples 1, 5 and 20 ms apart, and draw the worst joint's errors."""
    plan, feedforward = example_plan(), FeedForward(hd.load_robot('panda'))
    # Franka's controller adds gravity and friction itself.
    terms = {'gravity': False, 'friction': False}
    instants = np.arange(0.0, plan.duration, 1e-4)
    motion = plan.evaluate(instants)
    torque = feedforward.torque(motion, **terms)
    late = np.abs(torque[:, 1]).max(axis=0) * UPDATE_PERIOD
    print(
        f'Q up to {np.abs(torque[:, 0]).max():.1f} N m, Q̇ up to {np.abs(torque[:, 1]).max():.0f} '
        f'N m/s: an effort {UPDATE_PERIOD * 1e3:g} ms late is off by up to {late.max():.3f} N m')
    plt.style.use(plot_style.STYLE)
    figure, axes = plt.subplots(len(PERIODS) + 1, 1, figsize=(8, 9), sharex=True)
    joint = int(np.abs(torque[:, 2]).max(axis=0).argmax())
    axes[0].plot(instants, torque[:, 0, joint])
    axes[0].set_ylabel(f'Q of joint {joint + 1} (N m)')
    for period, axis in zip(PERIODS, axes[1:], strict=True):
        samples = annotate(plan, feedforward, period, **terms)
        error = jtc_efforts(samples.times, samples.torque[:, 0], instants) - torque[:, 0]
        bound = period**2 / 8.0 * np.abs(torque[:, 2]).max(axis=0)
        moved = jtc_positions(samples.times, samples.motion[:, :3], instants) - motion[:, 0]
        print(
            f'samples {period * 1e3:4g} ms apart: torque off by up to {np.abs(error).max():.2e} '
            f'N m (h²/8 |Q̈|: {bound.max():.2e}), position by {np.abs(moved).max():.1e} rad')
        axis.plot(instants, error[:, joint], label='linear between samples − Q')
        axis.axhline(bound[joint], color=plot_style.GREY, linestyle=':', label='h²/8 max |Q̈|')
        axis.axhline(-bound[joint], color=plot_style.GREY, linestyle=':')
        axis.set_ylabel(f'{period * 1e3:g} ms: error (N m)')
    axes[1].legend(loc='lower left')
    axes[-1].set_xlabel(plot_style.TIME)
    figure.savefig(path)
    print(f'figure: {path}')


if __name__ == '__main__':
    main(*sys.argv[1:])
