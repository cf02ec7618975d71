"""Compiles the kernels of a replay once, before many processes need them."""
from pathlib import Path
import tempfile

import numpy as np

from hodyn_ros.replay.computed_bag import computed_bag
from hodyn_ros.replay.replay_file import replay_file
from hodyn_ros.robot import Robot

_RATE, _SAMPLES = 100, 64  # Hz; number of messages


def warm_up(robot: Robot) -> None:
    """Compile the kernels by a replay of a short artificial motion."""
    time = np.arange(_SAMPLES) / _RATE
    q = np.zeros((_SAMPLES, 5, robot.n))
    for k in range(5):
        q[:, k] = 0.1 * np.sin(time + 0.5 * k * np.pi)[:, None]
    torque = np.zeros((_SAMPLES, 1, robot.n))
    torque[:, 0] = q[:, 0]
    stamps = np.arange(1, _SAMPLES + 1) * (1_000_000_000 // _RATE)
    with tempfile.TemporaryDirectory() as scratch:
        bag = Path(scratch) / 'moment'
        with computed_bag(bag, robot.joint_names, ['/joint_states']) as write:
            write(stamps, stamps, q, torque)
        replay_file(bag, robot, Path(scratch) / 'report', report=False)
