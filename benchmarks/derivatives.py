"""Time of the derivatives with respect to the state, beside that of the torques themselves.

The command: ``python -m benchmarks.derivatives [--turns N]``.
"""
import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import Contender, race
from benchmarks.peers import installed, pinocchio_model
from hodyn_ros import (
    InverseDynamics,
    InverseDynamicsDerivatives,
    inverse_dynamics_derivatives,
    load_robot,
)
from hodyn_ros.dynamics.inverse_dynamics import model_of
from hodyn_ros.dynamics.kernels import rnea_spatial

MOTIONS = 1000
ORDERS = (0, 1, 2)
TARGET = 4.0  # times the torques of the same order


def main() -> None:
    """Run the race and print both tables."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.derivatives', description=__doc__)
    parser.add_argument('--turns', type=int, default=60, help='turns of the race (60)')
    arguments = parser.parse_args()
    robot, rng = load_robot('panda'), np.random.default_rng(0)
    n, rows = robot.n, []
    for r in ORDERS:
        q = rng.normal(size=(MOTIONS, r + 3, n))
        torques = q, np.empty((MOTIONS, r + 1, n))
        partials = q, np.empty((MOTIONS, r + 1, r + 3, n, n))
        rows.append((
            Contender('Q', InverseDynamics(robot, r).batch, torques, MOTIONS),
            Contender(
                'Q, any-order kernel', rnea_spatial.inverse_dynamics,
                (*model_of(robot), rnea_spatial.workspace(n, r), (), np.zeros((1, 0, 0, 0)),
                 *torques), MOTIONS),
            Contender(
                'derivatives', InverseDynamicsDerivatives(robot, r).batch, partials, MOTIONS)))
    motion, out = rng.normal(size=(3, n)), np.empty((1, 3, n, n))
    handle = InverseDynamicsDerivatives(robot, 0)
    calls = [
        Contender('through a handle', handle, (motion, out)),
        Contender('checked', inverse_dynamics_derivatives, (robot, motion)), rows[0][2]]
    pin = installed('pinocchio')
    if pin is not None:
        model = pinocchio_model(pin, robot)
        state = model, model.createData(), *(row.copy() for row in motion)
        handle(motion, out)
        by_q, by_rate, mass = pin.computeRNEADerivatives(*state)
        mass = np.triu(mass) + np.triu(mass, 1).T
        np.testing.assert_allclose(out[0], [by_q, by_rate, mass], rtol=1e-9, atol=1e-9)
        calls.insert(0, Contender(
            'pin.computeRNEADerivatives', pin.computeRNEADerivatives, state))
    race([contender for row in rows for contender in row] + calls[:-1], arguments.turns)

    console = Console()
    table = Table(title='Panda, per motion in a batch of 1000, ns; derivatives in multiples of Q')
    for heading in ('order', 'Q', 'its any-order kernel', 'derivatives', '× Q', '× any-order', ''):
        table.add_column(heading, justify='right')
    for r, (torque, any_order, derivatives) in zip(ORDERS, rows, strict=True):
        ratios = derivatives.ratio(torque), derivatives.ratio(any_order)
        table.add_row(
            str(r), *(f'{row.nanoseconds:.0f}' for row in (torque, any_order, derivatives)),
            *(f'{ratio:.1f}' for ratio in ratios), 'met' if ratios[0] <= TARGET else 'missed')
    console.print(table)
    table = Table(title='∂Q/∂q, ∂Q/∂q̇, M, called from Python')
    for heading in ('', 'ns', f'× {calls[0].name}'):
        table.add_column(heading, justify='left' if heading == '' else 'right')
    for name, contender in zip(
            [contender.name for contender in calls[:-1]] + ['per motion in a batch'], calls,
            strict=True):
        table.add_row(name, f'{contender.nanoseconds:.0f}', f'{contender.ratio(calls[0]):.2f}')
    console.print(table)


if __name__ == '__main__':
    main()
