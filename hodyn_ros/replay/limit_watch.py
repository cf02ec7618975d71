"""Margins of a recorded motion to limits and to the vendor's reflexes."""
from dataclasses import replace

import numpy as np

from hodyn_ros.common.arrays import Flags
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.limits.quantities import EFFORTS, JOINT_QUANTITIES, KINEMATIC, QUANTITIES
from hodyn_ros.replay.recorded_torques import Chunk
from hodyn_ros.robot.reflexes import COMMANDS

WATCHED = (*JOINT_QUANTITIES, 'power')


class LimitWatch:
    """Gathers the extremes of a motion chunk by chunk; `names` are the recording's joint names."""

    def __init__(self, feedforward: FeedForward, names: tuple[str, ...]) -> None:
        self._names = names
        self._table = LimitTable(feedforward, *COMMANDS, quantities=WATCHED)
        self._gathered = self._table.extremes_of(np.int64)

    def add(self, chunk: Chunk) -> None:
        """Add motion and torques of a chunk whose messages are all used."""
        self._table.gather(
            self._gathered, chunk.stamps, chunk.q, self._table.found(chunk.q, chunk.torque))

    @property
    def extremes(self) -> list[LimitMargin]:
        """Extremes of all quantities, joint by joint."""
        found, n = self._table.extremes(self._gathered), len(self._names)
        return [
            replace(found[k * n + joint], joint=name, quantity=QUANTITIES[quantity].title)
            for joint, name in enumerate(self._names) for k, quantity in enumerate(WATCHED)]

    def reflexes(
        self, motion_supported: Flags, torque_supported: Flags,
    ) -> list[LimitMargin]:
        """Return each reflex's margin at the joint that came closest, the closest reflex first.

        `motion_supported`, (5, n), and `torque_supported`, (3, n), say which quantities the
        recording resolves; only these are checked.
        """
        known = dict(zip((*KINEMATIC, *EFFORTS), (
            *motion_supported[:4], *torque_supported[:2]), strict=True))
        columns = self._table.columns
        found = self._table.worst_of_reflexes(self._gathered, [
            column.reflex is not None and bool(known[column.quantity][column.place])
            for column in columns])
        names = dict(zip((column.joint for column in columns), self._names, strict=False))
        return [replace(each, joint=names[each.joint]) for each in found]
