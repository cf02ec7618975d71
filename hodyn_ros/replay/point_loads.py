"""Finds the point mass on a link that explains most of the error of recorded efforts."""
from typing import NamedTuple

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.robot import Robot

_HEAVIEST, _FARTHEST = 1.0, 0.5  # largest load, in masses of the arm; its largest coordinate, m
_UNIT = 0.1  # distance of test loads from the origin of the link, m


class PointLoad(NamedTuple):
    """A point mass that a link carries."""

    link: str  #: The name of the link
    mass: float  #: kg
    centre: tuple[float, ...]  #: (3,), m, in the axes of the link
    is_on_last: bool  #: Whether the link is the last body of the robot

    @property
    def option(self) -> str:
        """What follows ``--payload`` to give this load."""
        centre = ' '.join(f'{round(value, 3) + 0.0:g}' for value in self.centre)
        return f'{self.link} {self.mass:.2g} {centre}'


def find_load(
    feedforward: FeedForward, link: str, motion: Array, effort: Array, known: Flags,
    weight: Array | float = 1.0, *, gravity: bool = True,
) -> PointLoad | None:
    """Return the load on a link that fits best; None if it is implausible.

    Bias and friction are fitted as well. Motions are (S, 5, n), efforts and which of them are
    known (S, n); `weight`, (n,), weights the joints' squared errors. `gravity` says whether the
    efforts contain gravity.
    """
    robot = feedforward.robot

    def torque(model: FeedForward) -> Array:
        return model.torque(motion, gravity=gravity, friction=False)[:, 0]

    base = torque(feedforward)
    loaded = [
        torque(FeedForward(with_load(robot, PointLoad(link, 1.0, tuple(centre), False)))) - base
        for centre in (_UNIT * np.eye(4, 3, -1)).tolist()]
    columns = [loaded[0], *((each - loaded[0]) / _UNIT for each in loaded[1:])]
    fit = FrictionFit(robot.n, len(columns))
    fit.add(motion[:, 1], columns, effort - base, known)
    products = np.sum(fit.left * np.broadcast_to(weight, robot.n)[:, None, None], axis=0)
    mass, *moments = np.linalg.lstsq(
        products[:-1, :-1], products[:-1, -1], rcond=1e-9)[0].tolist()
    if not 0.0 < mass < _HEAVIEST * sum(body.mass for body in robot.bodies):
        return None
    centre = tuple(moment / mass for moment in moments)
    return None if max(map(abs, centre)) > _FARTHEST else PointLoad(
        link, mass, centre, link == robot.bodies[-1].name)


def with_load(robot: Robot, load: PointLoad) -> Robot:
    """Return a robot that carries a load."""
    return robot.with_payload(load.link, load.mass, np.array(load.centre), np.zeros((3, 3)))


def carrying(robot: Robot, load: PointLoad, motion: Array) -> Flags:
    """Return which joints of a robot carry a load during a motion (S, 5, n), (n,)."""
    bare, loaded = (
        FeedForward(one).torque(motion, friction=False)[:, 0]
        for one in (robot, with_load(robot, load)))
    return np.asarray((loaded != bare).any(axis=0))
