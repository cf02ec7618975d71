"""The figures and times of the papers: ``python -m benchmarks.papers DIR [--turns N]``.

Motions and parameters are those of the papers. The authors' MATLAB takes the printed inertias of
Panda and iiwa about the frames' origins; they are about the centres of mass. `as_coded` makes such
an arm, which no real one is, for these figures alone. Times are those of the quickest turn, as
they stand alone beside printed ones: there is no ratio that a busy moment would leave as it is.
"""
import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import floating_growth, operation_counts, planar_arm
from benchmarks.interleaved import Contender, race
from benchmarks.peers import installed
from hodyn_ros import (
    ForwardDynamics,
    InverseDynamics,
    Robot,
    forward_dynamics,
    inverse_dynamics,
    load_robot,
)
from hodyn_ros.common import plot_style
from hodyn_ros.dynamics.formulations import Formulation

Array = NDArray[np.float64]

AMPLITUDE = np.array([
    -1.2943753211777664, 0.7175341454355011, -0.5691380764966176, 0.5848944158627155,
    1.6216297151633214, -0.9187855709752027, 0.4217605991935227])
FREQUENCY = np.array([
    1.7073873117335832, 3.079992797637052, 2.1084514453622774, 3.5903916041026207,
    1.4183262544423447, 2.285625793808507, 5.927533308659986])
"""rad and rad/s: the cosines of MK21, KM21 and M21, "(31) of [12]"."""
DURATION = 5.0
PRINTED_INVERSE = (2.326, 3.078, 2.867, 4.355, 5.960, 8.171)
PRINTED_FORWARD = (4.106, 4.802, 6.486, 6.461, 8.589, 11.085)
"""µs a call, orders 0 to 5, of AGF26, Fig. 3, in C++."""
PRINTED_CALLS: tuple[tuple[str, str, int, Formulation, float], ...] = (
    ('MK21', 'iiwa14', 10_000, 'closed_form', 16.34), ('M21', 'panda', 40_000, 'spatial', 7.15),
    ('M21', 'panda', 40_000, 'body_fixed', 8.36))
"""Paper, robot, calls of order 2, formulation, seconds in MATLAB."""
COUNTED = ('twolink', 'panda', 'iiwa14')
"""Robots whose operations are counted, orders 0 to 5."""
LABELS = (*plot_style.TORQUES, 'Q⁽³⁾ (N m/s³)')


def cosines(times: Array, order: int) -> Array:
    """Return the motion of the serial arms to a derivative, (T, order + 1, 7)."""
    k = np.arange(order + 1)[:, None]
    phase = FREQUENCY * times[:, None, None] + k * np.pi / 2
    return AMPLITUDE * FREQUENCY**k * np.cos(phase)


def as_coded(robot: Robot) -> Robot:
    """Return the arm whose inertias about the frames' origins are the printed numbers."""
    return replace(robot, bodies=tuple(
        replace(body, inertia=body.inertia - body.mass * (
            body.com @ body.com * np.eye(3) - np.outer(body.com, body.com)))
        for body in robot.bodies))


def table_3(t: float, order: int) -> tuple[Array, Array]:
    """Return the motion of AGF26's aerial manipulator, q (order + 3, 6) and V (order + 2, 6)."""
    start = np.deg2rad([10, -5, 15, -10, 7, -12])
    swing = np.deg2rad([60, 50, 40, 55, 45, 35]) / 2
    k = np.arange(order + 3)[:, None]
    q = -swing * (np.pi / 30) ** k * np.cos(np.pi / 30 * t + k * np.pi / 2)
    q[0] += start + swing
    circle, turn = 2 * np.pi / 20, 2 * np.pi / 30
    k = np.arange(order + 2)
    twist = np.zeros((order + 2, 6))
    twist[:, 2] = np.deg2rad(25) * turn ** (k + 1) * np.sin(turn * t + (k + 1) * np.pi / 2)
    twist[:, 3] = circle ** (k + 1) * np.cos(circle * t + (k + 1) * np.pi / 2)
    twist[:, 4] = circle ** (k + 1) * np.sin(circle * t + (k + 1) * np.pi / 2)
    return q, twist


def draw_torques(
    robot: Robot, order: int, title: str, path: Path,
) -> list[tuple[str, str, str, str]]:
    """Draw Q … Q⁽ʳ⁾ along the cosines, with those of the authors' code dashed.

    Returns what, the largest, when, and how far the authors' differ.
    """
    times = np.linspace(0.0, DURATION, 1001)
    q = cosines(times, order + 2)
    ours, coded = (inverse_dynamics(one, q) for one in (robot, as_coded(robot)))
    figure, axes = plt.subplots(order + 1, 1, sharex=True, figsize=(7.5, 2.0 * (order + 1)))
    for torques, style in ((ours, '-'), (coded, '--')):
        for k, axis in enumerate(axes):
            axis.set_prop_cycle(color=[*plt.rcParams['axes.prop_cycle'].by_key()['color']])
            lines = axis.plot(times, torques[:, k], ls=style, lw=1.0)
            axis.set_ylabel(LABELS[k])
        if style == '-':
            figure.legend(lines, robot.joint_names, loc='outside upper center', ncols=7)
    axes[-1].set_xlabel(plot_style.TIME)
    axes[0].set_title(title)
    figure.savefig(path)
    plt.close(figure)
    rows = []
    for k in range(order + 1):
        sample, joint = np.unravel_index(np.abs(ours[:, k]).argmax(), ours[:, k].shape)
        rows.append((
            f'{robot.name}: {LABELS[k]}', f'{ours[sample, k, joint]:.5g}',
            f'{robot.joint_names[joint]} at {times[sample]:.2f} s',
            f'{np.abs(ours[:, k] - coded[:, k]).max():.3g}'))
    return rows


def round_trip(order: int, path: Path) -> Array:
    """Draw Fig. 3 of AGF26; return the errors of each order's own size, (2, order + 1)."""
    robot = load_robot('aerial_manipulator')
    times = np.linspace(0.0, 30.0, 61)
    errors = np.zeros((len(times), 2, order + 1))
    efforts = []
    for i, t in enumerate(times):
        q, twist = table_3(t, order)
        torque, wrench = inverse_dynamics(robot, q, base_pose=np.eye(4), base_twist=twist)
        efforts.append(torque)
        found, base = forward_dynamics(
            robot, q[:2], torque, base_pose=np.eye(4), base_twist=twist[:1], base_wrench=wrench)
        for part, (one, other) in enumerate(((found, q[2:]), (base, twist[1:]))):
            errors[i, part] = np.abs(one - other).max(axis=1)
    sizes = np.array([
        [np.abs(table_3(t, order)[0][2:]).max(axis=1) for t in times],
        [np.abs(table_3(t, order)[1][1:]).max(axis=1) for t in times]]).max(axis=1)
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7.5, 5.5))
    for k in range(order + 1):
        axes[0].plot(times, np.array(efforts)[:, k, 0] / np.abs(np.array(efforts)[:, k]).max())
        axes[1].semilogy(times, errors[:, 0, k] / sizes[0, k] + 1e-18, label=f'order {k}')
    axes[0].set_ylabel('torque of joint 1, each order\nas a share of its largest')
    axes[1].set(ylabel='error of q⁽ʳ⁺²⁾, of its largest', xlabel=plot_style.TIME)
    figure.legend(*axes[1].get_legend_handles_labels(), loc='outside upper center', ncols=6)
    figure.savefig(path)
    plt.close(figure)
    return errors.max(axis=0) / sizes


def times(turns: int) -> list[tuple[str, float, float]]:
    """Return what, µs a call here, and µs printed."""
    random = np.random.default_rng(0)
    drone = load_robot('aerial_manipulator')
    inverse, forward = [], []
    for order in range(6):
        q, pose = random.normal(size=(1, order + 3, 6)), np.eye(4)[None]
        twist = random.normal(size=(1, order + 2, 6))
        torque, wrench = np.empty((1, order + 1, 6)), np.empty((1, order + 1, 6))
        handle = InverseDynamics(drone, order)
        inverse.append(Contender(
            f'AGF26 Fig. 3, inverse, order {order}', handle.floating_batch,
            (q, pose, twist, torque, wrench)))
        handle.floating_batch(q, pose, twist, torque, wrench)
        forward.append(Contender(
            f'AGF26 Fig. 3, forward, order {order}', ForwardDynamics(drone, order),
            (q[0, :2].copy(), torque[0], np.empty((order + 1, 6)), pose[0], twist[0, :1].copy(),
             wrench[0], np.empty((order + 1, 6)))))
    race([*inverse, *forward], turns)
    return [
        (one.name, 1e6 * min(one.seconds), paper) for one, paper in zip(
            [*inverse, *forward], [*PRINTED_INVERSE, *PRINTED_FORWARD], strict=True)]


def seconds_of_calls(turns: int) -> list[tuple[str, float, float]]:
    """Return what, seconds of all its calls here, one by one from Python, and as printed."""
    def call_all(handle: InverseDynamics, motions: Array, out: Array) -> None:
        for motion in motions:
            handle(motion, out)

    contenders = [
        Contender(f'{paper}, {name}, {calls} calls, {formulation}', call_all, (
            InverseDynamics(load_robot(name), 2, formulation),
            cosines(np.linspace(0.0, DURATION, calls), 4), np.empty((3, 7))))
        for paper, name, calls, formulation, _ in PRINTED_CALLS]
    race(contenders, turns)
    return [
        (one.name, min(one.seconds), paper[-1])
        for one, paper in zip(contenders, PRINTED_CALLS, strict=True)]


def _print(console: Console, heading: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = Table(*heading)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def main() -> None:
    """Write the figures and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path, help='for the figures')
    parser.add_argument('--turns', type=int, default=40, help='of each measurement')
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    plt.style.use(plot_style.STYLE)
    torques = [
        *draw_torques(
            load_robot('iiwa14'), 2, 'MK21, Figs. 3 and 4: iiwa', options.folder / 'mk21.png'),
        *draw_torques(
            load_robot('panda'), 3, 'M21, Fig. 2; KM21, Figs. 2 to 5: Panda',
            options.folder / 'm21_km21.png')]
    errors = round_trip(5, options.folder / 'agf26_fig3.png')
    moments = np.linspace(0.0, DURATION, 201)
    bent = cosines(moments, 2)[:, :, :2]
    bent[:, 0, 1] += np.pi / 2  # a stretched arm has no task-space dynamics
    planar = planar_arm.draw(moments, bent, options.folder / 'mr9_2r.png')
    console = Console()
    casadi = installed('casadi')
    if casadi is None:
        console.print('CasADi is not installed (pip install casadi): Fig. 4(c) is without it.')
    growth = floating_growth.measure(casadi, options.turns)
    floating_growth.draw(growth, options.folder / 'agf26_fig4.png')
    _print(console, ('', 'largest', 'of', "from the authors' by"), torques)
    orders = [f'order {k}' for k in range(6)]
    _print(console, ('', 'µs a call', 'printed'), (
        (name, f'{here:.2f}', f'{paper:g}') for name, here, paper in times(options.turns)))
    _print(console, ('order 2', 's', 'printed'), (
        (name, f'{here:.3f}', f'{paper:g}')
        for name, here, paper in seconds_of_calls(options.turns)))
    _print(console, ('AGF26 Fig. 4', 'here', 'printed'), floating_growth.summary(growth))
    if casadi is not None:
        console.print(f'largest difference from CasADi: {growth.difference:.0e} of the largest')
    _print(console, ('operations', *orders), (
        (f'{name}, {formulation}', *(
            str(operation_counts.count(load_robot(name), k, formulation)) for k in range(6)))
        for name in COUNTED for formulation in operation_counts.FORMULATIONS))
    _print(console, ('AGF26 Fig. 3: error there and back', *orders), (
        (name, *(f'{error:.1e}' for error in row))
        for name, row in zip(('joints', 'base'), errors, strict=True)))
    _print(console, ('MR9, 2R arm: difference from the library', ''), planar)
    console.print(f'figures in {options.folder}')


if __name__ == '__main__':
    main()
