"""Coupled joints, whose positions follow other joints, as in a gripper's fingers.

A motion q has only the joints that move by themselves. The bodies' joints are at S q + c with
constant S and c; S holds the multipliers, in a row per body and a column per joint of q. By
virtual power, torques τ at the bodies' joints equal torques Sᵀ τ at the joints of q. Derivatives
of torques are mapped in the same way, a Jacobian J becomes J S, and the mass matrix is Sᵀ M S.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
import warnings

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError

COUPLED = 1e-3
"""Largest distance, rad or m, of a coupled joint from its coupling that counts as rounding."""


@dataclass(frozen=True)
class Mimic:
    """How a coupled joint follows its leader: it is at m q + c if the leader is at q."""

    joint: str  #: Name of the leader
    multiplier: float = 1.0  #: m, in the unit of the follower per unit of q
    offset: float = 0.0  #: c, rad or m

    def __str__(self) -> str:
        size = '' if abs(self.multiplier) == 1.0 else f'{abs(self.multiplier):.4g} × '
        shift = f' {"−" if self.offset < 0.0 else "+"} {abs(self.offset):.4g}'
        return (
            f'{"−" if self.multiplier < 0.0 else ""}{size}{self.joint}'
            f'{shift if self.offset else ""}')

    def position(self, leader: float) -> float:
        """Return the follower's position from the leader's, rad or m."""
        return self.multiplier * leader + self.offset

    def distance(self, leader: Array, follower: Array) -> tuple[Array, int, Array]:
        """Return the follower's distances from m q + c, the index of the largest, and m q + c.

        `leader` and `follower` are the positions of both joints, (T,), rad or m.
        """
        due = self.multiplier * leader + self.offset
        distance = np.abs(follower - due)
        return distance, int(distance.argmax()), due


def resolved(mimics: Mapping[str, Mimic], context: str) -> dict[str, Mimic]:
    """Return mimics without chains: each leader moves by itself.

    Raises HodynError when joints follow each other in a cycle.
    """
    result = {}
    for joint, mimic in mimics.items():
        path = [joint]
        while mimic.joint in mimics:
            path.append(mimic.joint)
            if path[-1] in path[:-1]:
                raise HodynError(
                    f'{context}: joints mimic each other in a cycle: {", ".join(map(repr, path))}')
            above = mimics[mimic.joint]
            mimic = Mimic(
                above.joint, mimic.multiplier * above.multiplier, mimic.position(above.offset))
        result[joint] = mimic
    return result


def warn_of_broken_couplings(
    mimics: Mapping[str, Mimic], locked: Mapping[str, float], context: str,
) -> None:
    """Warn of locked joints whose leader stays free.

    `mimics`, not yet `resolved`, has all coupled joints, also locked ones; `locked` has positions,
    rad or m; `context` names the source in the warning.
    """
    for name in locked:
        path = [name]
        while path[-1] in mimics and path[-1] not in (*path[:-1], *(locked.keys() - {name})):
            path.append(mimics[path[-1]].joint)
        if path[-1] not in locked:
            warnings.warn(
                f'{context}: {name} follows {path[-1]}, which is not locked: their coupling is '
                f'gone, and {path[-1]} stays free; lock {path[-1]} instead, and {name} is locked '
                'with it', stacklevel=2)


@dataclass(frozen=True, eq=False)
class Coupling:
    """Maps motions q to the bodies' joints, and torques at these joints back to the joints of q.

    Bodies are counted without a floating base, which has no joint. If no joint is coupled, arrays
    are returned unchanged.
    """

    carried: NDArray[np.int64]  #: (n,): index of the body that each joint of q carries
    leader: NDArray[np.int64]  #: (n_bodies,): index in q of the joint that each body moves with
    followers: NDArray[np.int64]  #: (f,): indices of the bodies whose joints are coupled
    #: `multiplier`, `offset`: (f,): m and c of each follower
    multiplier: Array
    offset: Array

    @classmethod
    def of(cls, joints: Sequence[str], mimics: Sequence[Mimic | None]) -> 'Coupling':
        """Return the coupling of all bodies' joints, given their names and mimics.

        Raises HodynError when a joint follows one that does not exist or is coupled itself.
        """
        own = [name for name, mimic in zip(joints, mimics, strict=True) if mimic is None]
        leaders = []
        for name, mimic in zip(joints, mimics, strict=True):
            leader = name if mimic is None else mimic.joint
            if leader not in own:
                raise HodynError(
                    f'joint {name!r} mimics {leader!r}, which is not a joint that moves by itself')
            leaders.append(own.index(leader))
        coupled = [mimic for mimic in mimics if mimic is not None]
        free = np.array([mimic is None for mimic in mimics], dtype=np.bool_)
        return cls(
            np.flatnonzero(free).astype(np.int64), np.array(leaders, dtype=np.int64),
            np.flatnonzero(~free).astype(np.int64),
            np.array([mimic.multiplier for mimic in coupled], dtype=np.float64),
            np.array([mimic.offset for mimic in coupled], dtype=np.float64))

    def to_bodies(self, q: NDArray[Any]) -> NDArray[Any]:
        """Return the motion of all bodies' joints, (…, k, n_bodies), from q, (…, k, n).

        A motion has positions in its first row and derivatives in the others.
        """
        if not self.followers.size:
            return q
        motion = q.take(self.leader, axis=-1)
        motion[..., self.followers] *= self.multiplier
        motion[..., 0, self.followers] += self.offset
        return motion

    def to_joints(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return torques or Jacobian columns per joint, (…, n), from (…, n_bodies) per body."""
        if not self.followers.size:
            return values
        sums = values.take(self.carried, axis=-1)
        for body, multiplier in zip(self.followers, self.multiplier.tolist(), strict=True):
            sums[..., self.leader[body]] += multiplier * values[..., body]
        return sums

    def joints_of(self, bodies: Sequence[int]) -> list[int]:
        """Return the indices of the joints that move these bodies, ascending."""
        joints: list[int] = np.unique(self.leader[list(bodies)]).tolist()
        return joints

    def matrix(self, base: int = 0) -> Array:
        """Return S, (n_bodies, n), or diag(I, S) after the `base` coordinates of a free base."""
        bodies, n = len(self.leader), len(self.carried)
        s = np.zeros((base + bodies, base + n))
        s[np.arange(base), np.arange(base)] = 1.0
        s[base + np.arange(bodies), base + self.leader] = 1.0
        s[base + self.followers, base + self.leader[self.followers]] = self.multiplier
        return s
