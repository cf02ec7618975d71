"""The same robot for the peers: Pinocchio, and CasADi's generated C. Either may be missing."""
from collections.abc import Callable
import functools
import importlib
from pathlib import Path
import shutil
import subprocess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros import Robot

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

    The first of the result, called without arguments, reads q (5, n) and writes out (3, n) through
    CasADi's buffers, its quickest door; the second must be kept as long.
    Raises RuntimeError where there is no C compiler.
    """
    compiler = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
    if compiler is None:
        raise RuntimeError('no C compiler')
    rows = [casadi.SX.sym(f'q{k}', robot.n) for k in range(5)]
    orders = [_newton_euler(casadi, robot, *rows[:3])]
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


def _newton_euler(casadi: Any, robot: Robot, q: Any, v: Any, a: Any) -> Any:
    """Return the torques, recursive Newton-Euler in body frames, revolute joints."""
    omega, alpha = casadi.SX.zeros(3), casadi.SX.zeros(3)
    acceleration = casadi.SX(-np.array(robot.gravity))
    done = []
    for i, body in enumerate(robot.bodies):
        skew = casadi.skew(casadi.SX(body.axis))
        turn = casadi.SX.eye(3) + casadi.sin(q[i]) * skew + (1 - casadi.cos(q[i])) * skew @ skew
        rotation = casadi.SX(body.placement[:3, :3]) @ turn
        # The joint's axis passes through a point of the body that does not move in the parent.
        point = body.placement[:3, 3] + body.placement[:3, :3] @ body.point
        position = casadi.SX(point) - rotation @ casadi.SX(body.point)
        anchor = casadi.SX(point)
        at = acceleration + casadi.cross(alpha, anchor) + casadi.cross(
            omega, casadi.cross(omega, anchor))
        axis = casadi.SX(body.axis)
        carried = rotation.T @ omega
        omega = carried + axis * v[i]
        alpha = rotation.T @ alpha + axis * a[i] + casadi.cross(carried, axis * v[i])
        lever = casadi.SX(body.point)
        acceleration = rotation.T @ at - casadi.cross(alpha, lever) - casadi.cross(
            omega, casadi.cross(omega, lever))
        com, inertia = casadi.SX(body.com), casadi.SX(body.inertia)
        force = body.mass * (acceleration + casadi.cross(alpha, com) + casadi.cross(
            omega, casadi.cross(omega, com)))
        moment = inertia @ alpha + casadi.cross(omega, inertia @ omega) + casadi.cross(com, force)
        done.append((rotation, position, force, moment))
    torques = []
    force, moment = casadi.SX.zeros(3), casadi.SX.zeros(3)
    for body, (rotation, position, own_force, own_moment) in zip(
            robot.bodies[::-1], done[::-1], strict=True):
        force, moment = force + own_force, moment + own_moment
        arm = casadi.cross(casadi.SX(body.axis), casadi.SX(-body.point))
        torques.append(casadi.dot(casadi.SX(body.axis), moment) + casadi.dot(arm, force))
        force, moment = rotation @ force, rotation @ moment
        moment = moment + casadi.cross(position, force)
    return functools.reduce(casadi.vertcat, torques[::-1])
