"""The figures and times of the papers: ``python -m benchmarks.papers DIR [--turns N]``.

Motions and parameters are those of the papers. The authors' MATLAB takes the printed inertias of
Panda and iiwa about the frames' origins; they are about the centres of mass. `as_coded` makes such
an arm, which no real one is, for these figures alone.
"""
import argparse
from dataclasses import replace
from pathlib import Path
import tempfile

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.growth import arm
from benchmarks.interleaved import Contender, race
from hodyn_ros import (
    ForwardDynamics,
    InverseDynamics,
    Limits,
    Robot,
    forward_dynamics,
    generate_c,
    inverse_dynamics,
    load_robot,
)
from hodyn_ros.common import plot_style
from hodyn_ros.robot.files.loader import MAX_MOVING

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
PRINTED_CLOSED_FORM = 1634.0
"""µs a call of MK21's MATLAB, order 2, iiwa."""
LABELS = (*plot_style.TORQUES, 'Q⃛ (N m/s³)')
BODIES, ORDERS = (7, 25, 100, 400, 1000), (0, 1, 2, 4, 6, 8, 10)
"""Of Fig. 4 of AGF26."""


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


def draw_torques(robot: Robot, order: int, title: str, path: Path) -> None:
    """Draw Q … Q⁽ʳ⁾ along the cosines, with those of the authors' code dashed."""
    times = np.linspace(0.0, DURATION, 1001)
    q = cosines(times, order + 2)
    figure, axes = plt.subplots(order + 1, 1, sharex=True, figsize=(7.5, 2.0 * (order + 1)))
    for one, style in ((robot, '-'), (as_coded(robot), '--')):
        torques = inverse_dynamics(one, q)
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


def long_arm(n: int) -> Robot:
    """Return `arm`, also of more bodies than files may have."""
    if n <= MAX_MOVING:
        return arm(n)
    first = arm(MAX_MOVING)
    bodies = tuple(
        replace(first.bodies[i % MAX_MOVING], name=f'body{i}', joint=f'joint{i}', parent=i - 1)
        for i in range(n))
    return replace(first, bodies=bodies, limits=Limits.none(n))


def growth(turns: int, path: Path) -> None:
    """Draw Fig. 4 of AGF26 for serial arms: time a call over bodies, for each order."""
    figure, axis = plt.subplots()
    random = np.random.default_rng(0)
    for order in ORDERS:
        times = []
        for n in BODIES:
            robot = long_arm(n)
            handle = InverseDynamics(robot, order)
            one = Contender(
                '', handle, (random.normal(size=(order + 3, n)), np.empty((order + 1, n))))
            race([one], turns)
            times.append(min(one.seconds))
        axis.loglog(BODIES, times, marker='o', ms=3, label=f'order {order}')
    axis.set(xlabel='bodies', ylabel='inverse dynamics, s a call')
    figure.legend(loc='outside upper center', ncols=7)
    figure.savefig(path)
    plt.close(figure)


def times(turns: int) -> list[tuple[str, float, float]]:
    """Return what, µs a call here, and µs printed (NaN for none)."""
    random = np.random.default_rng(0)
    rows = []
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
    arms = []
    for name in ('iiwa14', 'panda'):
        q, out = random.normal(size=(5, 7)), np.empty((3, 7))
        arms += [Contender(
            f'{name}, order 2, {formulation}',
            InverseDynamics(load_robot(name), 2, formulation), (q, out))
            for formulation in ('closed_form', 'spatial', 'body_fixed')]
    race([*inverse, *forward, *arms], turns)
    printed = [*PRINTED_INVERSE, *PRINTED_FORWARD, PRINTED_CLOSED_FORM, *[np.nan] * 5]
    for one, paper in zip([*inverse, *forward, *arms], printed, strict=True):
        rows.append((one.name, one.nanoseconds / 1e3, paper))
    return rows


def operation_counts() -> list[tuple[str, list[int]]]:
    """Return the operations of the body-fixed recursion, orders 0 to 4, constants folded."""
    rows = []
    for name in ('twolink', 'panda', 'iiwa14'):
        robot, counts = load_robot(name), []
        for order in range(5):
            with tempfile.TemporaryDirectory() as folder:
                made = generate_c(robot, Path(folder) / 'c', order=order)
            counts.append(next(iter(made.operations.values())))
        rows.append((name, counts))
    return rows


def main() -> None:
    """Write the figures and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path, help='for the figures')
    parser.add_argument('--turns', type=int, default=40, help='of each measurement')
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    plt.style.use(plot_style.STYLE)
    draw_torques(load_robot('iiwa14'), 2, 'MK21, Figs. 3 and 4: iiwa', options.folder / 'mk21.png')
    draw_torques(load_robot('panda'), 3, 'M21, Fig. 2; KM21, Figs. 2 to 5: Panda',
                 options.folder / 'm21_km21.png')
    errors = round_trip(5, options.folder / 'agf26_fig3.png')
    growth(options.turns, options.folder / 'agf26_fig4.png')
    console = Console()
    table = Table('what', 'µs a call', 'printed')
    for name, here, paper in times(options.turns):
        table.add_row(name, f'{here:.2f}', '' if np.isnan(paper) else f'{paper:g}')
    console.print(table)
    table = Table('operations', *(f'order {k}' for k in range(5)))
    for name, counts in operation_counts():
        table.add_row(name, *map(str, counts))
    console.print(table)
    table = Table('AGF26 Fig. 3: error there and back', *(f'order {k}' for k in range(6)))
    for name, row in zip(('joints', 'base'), errors, strict=True):
        table.add_row(name, *(f'{error:.1e}' for error in row))
    console.print(table)
    console.print(f'figures in {options.folder}')


if __name__ == '__main__':
    main()
