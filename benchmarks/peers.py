"""The same robot for the peers: Pinocchio, and CasADi's generated C. Either may be missing."""
from collections.abc import Callable, Iterable
import importlib
from pathlib import Path
import shutil
import subprocess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros import Robot
from hodyn_ros.codegen.expressions import Graph, translated
from hodyn_ros.codegen.routines import recursion, without_round_off

Array = NDArray[np.float64]


def installed(module: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def pinocchio_model(pin: Any, robot: Robot) -> Any:
    """Return Pinocchio's model of a serial arm of revolute joints."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    for body in robot.bodies:
        shift = pin.SE3(np.eye(3), np.array(body.point))
        placement = pin.SE3(body.placement[:3, :3].copy(), body.placement[:3, 3].copy()) * shift
        # Pinocchio has special code for joints about a coordinate axis: let it use that.
        joint = (
            pin.JointModelRZ() if np.array_equal(body.axis, (0, 0, 1))
            else pin.JointModelRevoluteUnaligned(np.array(body.axis)))
        index = model.addJoint(model.njoints - 1, joint, placement, body.joint)
        inertia = pin.Inertia(body.mass, body.com - body.point, np.array(body.inertia))
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    return model


def casadi_torques(
    casadi: Any, robot: Robot, folder: Path, q: Array, out: Array,
) -> tuple[Callable[[], None], Any]:
    """Return Q, Q̇, Q̈ by C that CasADi generates for this robot, its constants folded in.

    CasADi gets the operations of our body-fixed recursion for Q, and differentiates them.
    The first of the result, called without arguments, reads q (5, n) and writes out (3, n) through
    CasADi's buffers, its quickest door; the second must be kept as long.
    Raises RuntimeError where there is no C compiler.
    """
    compiler = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
    if compiler is None:
        raise RuntimeError('no C compiler')
    rows = [casadi.SX.sym(f'q{k}', robot.n) for k in range(5)]
    motion = Graph().variables('q', 3, robot.n)
    torque = recursion(
        robot, 0, without_round_off(robot.kernel_model.body_table), robot.gravity, motion)
    orders = [in_casadi(casadi, torque[0], zip(motion, rows, strict=False))]
    for known in (3, 4):
        state, rate = casadi.vertcat(*rows[:known]), casadi.vertcat(*rows[1:known + 1])
        orders.append(casadi.jtimes(orders[-1], state, rate))
    # Rows of numpy are columns of CasADi.
    torques = casadi.cse(casadi.horzcat(*orders))
    function = casadi.Function('torques', [casadi.horzcat(*rows)], [torques])
    generator = casadi.CodeGenerator('torques.c')
    generator.add(function)
    generator.generate(f'{folder}/')
    library = folder / 'torques.so'
    subprocess.run(
        [compiler, '-O3', '-march=native', '-fPIC', '-shared', folder / 'torques.c', '-o', library,
         '-lm'], check=True)
    buffers, evaluate = casadi.external('torques', str(library)).buffer()
    buffers.set_arg(0, memoryview(q))
    buffers.set_res(0, memoryview(out))
    return evaluate, (buffers, q, out)


def in_casadi(
    casadi: Any, results: Iterable[Any], given: Iterable[tuple[Iterable[Any], Any]],
) -> Any:
    """Return recorded expressions as one vector of CasADi; each row given is a vector there."""
    meaning = {
        variable: symbol for row, vector in given
        for variable, symbol in zip(row, casadi.vertsplit(vector), strict=True)}
    return casadi.vertcat(*translated(
        results, meaning, lambda name, *operands: getattr(casadi, name)(*operands)))
