"""The planar 2R arm of MR9, sections 9.1.1 and 9.6: its printed equations beside the library's."""
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from hodyn_ros import Robot, inverse_dynamics, load_robot, task_space_dynamics
from hodyn_ros.common import plot_style
from hodyn_ros.robot import lie

Array = NDArray[np.float64]

L1, L2, M1, M2, G = 0.7, 0.5, 2.0, 1.3, 9.81
"""Those of the built-in robot 'twolink'; the chapter has letters."""


def arm() -> Robot:
    """Return the arm, with its second mass as the link 'tip'."""
    return replace(load_robot('twolink'), frames={'tip': (1, lie.pose(None, [L2, 0.0, 0.0]))})


def mass_matrix(q: Array) -> Array:
    """Return M (2, 2) after (9.8), with cos θ₂ in M₁₂ in place of cos θ₁."""
    coupled = M2 * (L1 * L2 * np.cos(q[1]) + L2**2)
    return np.array([
        [(M1 + M2) * L1**2 + M2 * (2.0 * L1 * L2 * np.cos(q[1]) + L2**2), coupled],
        [coupled, M2 * L2**2]])


def bias(q: Array, rate: Array) -> Array:
    """Return b (2,) after (9.8), with θ̇₁² for −θ̇₁ θ̇₂, and + g, in its second row."""
    swing = M2 * L1 * L2 * np.sin(q[1])
    weight = M2 * G * L2 * np.cos(q[0] + q[1])
    return np.array([
        -swing * rate[1] * (2.0 * rate[0] + rate[1]) + (M1 + M2) * L1 * G * np.cos(q[0]) + weight,
        swing * rate[0]**2 + weight])


def torques(motion: Array) -> Array:
    """Return τ (2,) of θ, θ̇, θ̈ by the corrected equations."""
    q, rate, acceleration = motion
    mended: Array = mass_matrix(q) @ acceleration + bias(q, rate)
    return mended


def printed_torques(motion: Array) -> Array:
    """Return τ (2,) as it is printed."""
    q, rate, acceleration = motion
    first = torques(motion)[0] + M2 * L1 * L2 * (np.cos(q[0]) - np.cos(q[1])) * acceleration[1]
    second = mass_matrix(q)[1] @ acceleration - M2 * L1 * L2 * rate[0] * rate[1] * np.sin(
        q[1]) - M2 * G * L2 * np.cos(q[0] + q[1])
    return np.array([first, second])


def tip_jacobian(q: Array, rate: Array) -> tuple[Array, Array]:
    """Return J and J̇ (2, 2) of x and y of the second mass, which are printed before (9.7)."""
    angle, turn = q.cumsum(), rate.cumsum()
    across = np.array([-np.sin(angle), np.cos(angle)]) * [L1, L2]
    inward = np.array([-np.cos(angle), -np.sin(angle)]) * [L1, L2] * turn
    # Column i has the links from i on.
    jacobian, change = (
        np.column_stack([columns.sum(axis=1), columns[:, 1]]) for columns in (across, inward))
    return jacobian, change


def tip_dynamics(q: Array, rate: Array) -> tuple[Array, Array]:
    """Return Λ (2, 2) and η (2,) of (9.98) and (9.99)."""
    jacobian, change = tip_jacobian(q, rate)
    inverse = np.linalg.inv(jacobian)
    inertia = inverse.T @ mass_matrix(q) @ inverse
    return inertia, inverse.T @ bias(q, rate) - inertia @ change @ rate


def draw(times: Array, motions: Array, path: Path) -> list[tuple[str, str]]:
    """Draw torques and tip forces of motions (T, 3, 2); return how far the equations differ."""
    robot = arm()
    ours = inverse_dynamics(robot, motions)[:, 0]
    mended, printed = (
        np.array([equations(motion) for motion in motions])
        for equations in (torques, printed_torques))
    forces = np.empty((2, len(motions), 2))
    for i, (q, rate, acceleration) in enumerate(motions):
        task = task_space_dynamics(
            robot, np.array([q, rate]), 'tip', representation='hybrid', rows=(3, 4))
        jacobian, change = tip_jacobian(q, rate)
        wanted = jacobian @ acceleration + change @ rate
        inertia, rest = tip_dynamics(q, rate)
        forces[:, i] = task.inertia @ wanted + task.bias, inertia @ wanted + rest
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 6.0))
    for joint in range(2):
        axes[joint].plot(times, ours[:, joint], label='inverse_dynamics')
        axes[joint].plot(times, mended[:, joint], ls=':', lw=3.0, label='MR9, corrected')
        axes[joint].plot(times, printed[:, joint], ls='--', label='MR9, as printed')
        axes[joint].set_ylabel(f'τ{"₁₂"[joint]} (N m)')
    for axis, name in enumerate('xy'):
        axes[2].plot(times, forces[0, :, axis], label=f'F{name}, task_space_dynamics')
        axes[2].plot(times, forces[1, :, axis], ls=':', lw=3.0, label=f'F{name}, (9.97)')
    axes[2].set(ylabel='force at the tip (N)', xlabel=plot_style.TIME)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside upper center', ncols=3)
    figure.legend(*axes[2].get_legend_handles_labels(), loc='outside lower center', ncols=4)
    figure.savefig(path)
    plt.close(figure)
    return [(what, f'{np.abs(one - other).max():.1e} {unit}') for what, one, other, unit in (
        ('τ, corrected', mended, ours, 'N m'),
        ('τ₁, as printed', printed[:, 0], ours[:, 0], 'N m'),
        ('τ₂, as printed', printed[:, 1], ours[:, 1], 'N m'),
        ('F = Λ V̇ + η of the tip', *forces, 'N'))]
