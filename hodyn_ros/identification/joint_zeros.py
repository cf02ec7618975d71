"""Zeros of joints that differ from the model's by quarters of a turn."""
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.terms import Terms

Array = NDArray[np.float64]

_QUARTERS = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
_MAX_TURNED = 6  # joints: 4⁶ trials
_SAMPLES = 120
_WORTH = 0.05  # of the logarithm of the variance: less does not speak for a turn


def nearest_zeros(model: Terms) -> Array:
    """Return which quarter turns added to the recorded positions explain the efforts best, (n,).

    All combinations are tried on some samples, each joint's effort fitted by its torque, friction
    and a constant. A joint whose turn matters little keeps its zero.
    """
    data, robot = model.data, model.robot
    rows = np.flatnonzero(np.isfinite(data.effort).all(axis=1))
    rows = rows[::max(1, len(rows) // _SAMPLES)]
    zeros = np.zeros(robot.n)
    if not rows.size:
        return zeros
    q, effort = data.q[rows], data.effort[rows]
    feedforward = FeedForward(robot)
    friction = np.stack([
        np.tanh(q[:, 1] / 0.05), q[:, 1], np.ones_like(effort)], axis=2)
    bases = [np.linalg.qr(friction[:, j])[0] for j in range(robot.n)]

    def torque(turn: Array) -> Array:
        turned = q.copy()
        turned[:, 0] += turn
        return feedforward.torque(turned, gravity=data.gravity, friction=False)[:, 0]

    given = torque(zeros)
    scale = np.abs(given).max()
    turnable = [
        j for j in range(robot.n) if robot.joint_bodies[j].type == 'revolute' and any(
            np.abs(torque(angle * np.eye(robot.n)[j]) - given).max() > 1e-6 * scale
            for angle in _QUARTERS[1:])][:_MAX_TURNED]

    def cost(turn: Array) -> float:
        tau, total = torque(turn), 0.0
        for j, basis in enumerate(bases):
            left = effort[:, j] - basis @ (basis.T @ effort[:, j])
            own = tau[:, j] - basis @ (basis.T @ tau[:, j])
            if 'gains' in model.terms:
                own = own * max(own @ left, 0.0) / max(own @ own, 1e-300)
            total += np.log(max(float(np.mean((left - own) ** 2)), 1e-12))
        return total + _WORTH * np.count_nonzero(turn)

    best = cost(zeros)
    for angles in product(_QUARTERS, repeat=len(turnable)):
        turn = np.zeros(robot.n)
        turn[turnable] = angles
        value = cost(turn)
        if value < best:
            best, zeros = value, turn
    return zeros
