"""The command: ``python -m benchmarks [--turns N] [--json FILE]``."""
import argparse
import json
import os
from pathlib import Path
import platform
import tempfile

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import growth, startup
from benchmarks.interleaved import Contender, race
from benchmarks.peers import casadi_torques, installed, pinocchio_model
from hodyn_ros import InverseDynamics, Robot, inverse_dynamics, load_robot
from hodyn_ros.common.output_files import write_text
from hodyn_ros.dynamics.kernels import rnea_spatial

SAMPLES = 10_000
BASELINE = 'pin.rnea'
TARGETS = {  # ratios to pin.rnea called from Python
    'spatial': {'handle': 0.85, 'checked': 4.0, 'batch': 0.26},
    'body_fixed': {'handle': 0.65, 'checked': 4.0, 'batch': 0.20},
}
TREE_TARGET = 1.2
GROWTH_TARGETS = {'n': 1.1, 'r': 2.0}
STARTUP_TARGETS = {'cold': 6.0, 'cached': 2.0}


def ours(robot: Robot) -> list[Contender]:
    """Return our calls on an arm, of order 2 where they do not say otherwise."""
    rng = np.random.default_rng(0)
    q, out = rng.normal(size=(5, robot.n)), np.empty((3, robot.n))
    many, torques = rng.normal(size=(SAMPLES, 5, robot.n)), np.empty((SAMPLES, 3, robot.n))
    contenders = []
    for formulation, targets in TARGETS.items():
        handle = InverseDynamics(robot, 2, formulation)

        def checked(robot: Robot, q: np.ndarray, formulation: str = formulation) -> None:
            inverse_dynamics(robot, q, formulation=formulation)

        contenders += [
            Contender(f'{formulation}, handle', handle, (q, out), 1, targets['handle']),
            Contender(f'{formulation}, checked', checked, (robot, q), 1, targets['checked']),
            Contender(
                f'{formulation}, batch', handle.batch, (many, torques), SAMPLES, targets['batch']),
        ]
        for order in (0, 1):
            handle, last = InverseDynamics(robot, order, formulation), order + 3
            contenders += [
                Contender(f'{formulation}, handle, order {order}', handle,
                          (q[:last].copy(), out[:order + 1].copy()), 1),
                Contender(f'{formulation}, batch, order {order}', handle.batch,
                          (many[:, :last].copy(), torques[:, :order + 1].copy()), SAMPLES),
            ]
    closed_form = InverseDynamics(robot, 2, 'closed_form')
    return [*contenders, Contender('closed_form, handle', closed_form, (q, out), 1)]


def trees() -> list[Contender]:
    """Return seven bodies on a floating base, order 2, in a batch."""
    robot = load_robot('aerial_manipulator')
    rng = np.random.default_rng(0)
    q, pose = rng.normal(size=(SAMPLES, 5, robot.n)), np.tile(np.eye(4), (SAMPLES, 1, 1))
    twist = rng.normal(size=(SAMPLES, 4, 6))
    torque, wrench = np.empty((SAMPLES, 3, robot.n)), np.empty((SAMPLES, 3, 6))
    model = robot.kernel_model
    return [
        Contender(
            'floating tree, batch', InverseDynamics(robot).floating_batch,
            (q, pose, twist, torque, wrench), SAMPLES, TREE_TARGET),
        Contender(
            'floating tree, batch, any-order kernel', rnea_spatial.inverse_dynamics,
            (model.parent, model.body_table, model.body_in_kernel, robot.gravity,
             rnea_spatial.workspace(len(robot.bodies), 2), (pose, twist, wrench),
             np.zeros((1, 0, 0, 0)), q, torque), SAMPLES),
    ]


def peers(robot: Robot, folder: Path, say: Console) -> list[Contender]:
    """Return what of the peers is installed; the baseline comes first."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(5, robot.n))
    contenders = []
    pin = installed('pinocchio')
    if pin is None:
        say.print('Pinocchio is not installed (pip install pin): no ratios.')
    else:
        model = pinocchio_model(pin, robot)
        state = (model, model.createData(), *(row.copy() for row in q[:3]))
        np.testing.assert_allclose(pin.rnea(*state), inverse_dynamics(robot, q)[0], rtol=1e-9)
        contenders = [
            Contender(BASELINE, pin.rnea, state),
            Contender('pin.computeRNEADerivatives', pin.computeRNEADerivatives, state),
        ]
    casadi = installed('casadi')
    if casadi is None:
        say.print('CasADi is not installed (pip install casadi).')
        return contenders
    try:
        out = np.empty((3, robot.n))
        evaluate, owner = casadi_torques(casadi, robot, folder, q, out)
    except RuntimeError as error:
        say.print(f'CasADi generates no code: {error}.')
        return contenders
    evaluate()
    np.testing.assert_allclose(out, inverse_dynamics(robot, q), rtol=1e-9, atol=1e-9)
    return [*contenders, Contender('CasADi, C for this robot', evaluate, (), keeps=owner)]


def main() -> None:
    """Run everything, print a table, and write the JSON file if wanted."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parser.add_argument('--turns', type=int, default=60, help='turns of the race (60)')
    parser.add_argument('--json', type=Path, help='write the figures to this file')
    arguments = parser.parse_args()
    console = Console()
    robot = load_robot('panda')
    with tempfile.TemporaryDirectory() as folder:
        contenders = [*peers(robot, Path(folder), console), *ours(robot), *trees()]
        race(contenders, arguments.turns)
    baseline = contenders[0] if contenders[0].name == BASELINE else None
    rows = [{
        'name': contender.name,
        'nanoseconds': contender.nanoseconds,
        'ratio': None if baseline is None else contender.ratio(baseline),
        'target': contender.target,
    } for contender in contenders]
    exponents = growth.exponents(robot, max(5, arguments.turns // 4))
    seconds = startup.seconds()

    table = Table(title=f'Q, Q̇, Q̈ of the Panda; ratios to {BASELINE}, which computes Q alone')
    for heading in ('', 'ns', 'ratio', 'at most', ''):
        table.add_column(heading, justify='left' if heading == '' else 'right')
    for row in rows:
        table.add_row(
            row['name'], f'{row["nanoseconds"]:.0f}', _number(row['ratio']),
            _number(row['target']), _verdict(row['ratio'], row['target']))
    table.add_section()
    for name, value in exponents.items():
        target = GROWTH_TARGETS[name[0]]
        table.add_row(
            f'exponent in {name.replace("_", ", ", 1)}', '', _number(value), _number(target),
            _verdict(value, target))
    table.add_section()
    for name, value in seconds.items():
        target = STARTUP_TARGETS[name]
        table.add_row(
            f"node's kernels, {name}, s", '', _number(value), _number(target),
            _verdict(value, target))
    console.print(table)
    if arguments.json is not None:
        write_text(arguments.json, json.dumps({
            'machine': {
                'processor': platform.processor() or platform.machine(),
                'cpus': os.cpu_count(), 'python': platform.python_version(),
                'numpy': np.__version__, 'numba': numba.__version__},
            'turns': arguments.turns, 'baseline': BASELINE if baseline else None,
            'times': rows, 'growth': exponents, 'startup': seconds,
        }, indent=2, ensure_ascii=False) + '\n', force=True)


def _number(value: float | None) -> str:
    return '' if value is None else f'{value:.2f}'


def _verdict(value: float | None, target: float | None) -> str:
    if value is None or target is None:
        return ''
    return 'met' if value <= target else 'missed'


if __name__ == '__main__':
    main()
