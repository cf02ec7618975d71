"""A recording replayed: its report, its Parquet file, and its rows of the summary."""
from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from glob import escape
import math
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.outcome import (
    OK,
    Job,
    Outcome,
    Row,
    failed_by,
    printable,
    remove_results,
)
from hodyn_ros.fleet.summary import FIGURES, LIMITED
from hodyn_ros.robot import Robot

if TYPE_CHECKING:
    from hodyn_ros.replay.replay_bag import Replay
    from hodyn_ros.replay.replay_file import RecordedTime

REPORTS, MOTION = 'reports', 'motion'
"""Folders of what is written for each bag."""
_MOTION_FILE = 'computed.parquet'


@dataclass(frozen=True)
class ReplayTask:
    """Replays a recording as ``hodyn replay`` does, to a folder that many recordings share.

    Attributes
    ----------
    robot : Robot or str
        The robot, or a built-in name or path that every worker can read.
    output : Path
        Folder of the fleet: a bag's report goes to ``reports/NAME``, its Parquet file to
        ``motion/robot=ROBOT/bag=NAME``. What is there of it is replaced.
    topic, prefix, bandwidth, csv, report
        As for `replay.replay_file`.

    """

    robot: Robot | str
    output: Path
    topic: str | None = None
    prefix: str = ''
    bandwidth: float | None = None
    csv: bool = False
    report: bool = True

    key = 'bag'
    folders = (REPORTS, MOTION)

    def __call__(self, path: Path, name: str = '') -> Outcome:
        """Replay a bag; what is wrong with it is told by the status, and not raised.

        Parameters
        ----------
        path : Path
            Folder of a rosbag2, or a lone ``.db3`` or ``.mcap`` file.
        name : str
            Its name among those of the fleet; that of the file by default.

        """
        path = Path(path)
        name = printable(name or path.name)
        try:
            robot = _loaded(self.robot)
            result, time = self._replayed(path, name, robot)
        except (HodynError, OSError) as error:
            return failed_by(self.key, Job(name, path), error)
        rows = _rows(result, time, robot)
        status = result.counts.damage or OK
        return Outcome(
            name, status,
            [{self.key: name, 'path': str(path), 'status': status, **row} for row in rows],
            messages=result.counts.total)

    def places(self, name: str) -> tuple[Path, Path]:
        """Return the folder of a bag's report, and its Parquet file."""
        robot = quote(_loaded(self.robot).name, safe='')
        return (
            self.output / REPORTS / name,
            self.output / MOTION / f'robot={robot}' / _partition(name) / _MOTION_FILE)

    def present(self, name: str) -> list[Path]:
        """Return what is there of a bag, of any robot."""
        from hodyn_ros.replay.report import CONTENTS

        report = self.output / REPORTS / name
        motion = (self.output / MOTION).glob(f'robot=*/{escape(_partition(name))}/{_MOTION_FILE}')
        return [*(CONTENTS.present(report) if report.is_dir() else ()), *sorted(motion)]

    def remove(self, name: str) -> None:
        """Remove what an earlier run wrote for a bag, of any robot, and nothing else."""
        from hodyn_ros.replay.report import CONTENTS

        remove_results([
            path for path in self.present(name) if path.is_file() or (
                path.is_dir() and not CONTENTS.folders[path.name].foreign(path))], self.output)

    def _replayed(self, path: Path, name: str, robot: Robot) -> tuple[Replay, RecordedTime]:
        from hodyn_ros.replay.replay_file import replay_file

        report, parquet = self.places(name)
        is_new = not parquet.exists()
        for parent in (report.parent, parquet.parent):
            parent.mkdir(parents=True, exist_ok=True)
        try:
            return replay_file(
                path, robot, report, topic=self.topic, prefix=self.prefix,
                bandwidth=self.bandwidth, csv=self.csv, parquet=parquet, report=self.report,
                force=True)
        except (HodynError, OSError):
            if is_new:
                parquet.unlink(missing_ok=True)
            with suppress(OSError):  # its own; the folders above are those of other workers too
                parquet.parent.rmdir()
            raise

    def warm_up(self) -> None:
        """Compile the kernels, by a moment of motion."""
        from hodyn_ros.replay.warm_up import warm_up

        warm_up(_loaded(self.robot))


def _partition(name: str) -> str:
    return f'bag={quote(name, safe="")}'


def _loaded(robot: Robot | str) -> Robot:
    return robot if isinstance(robot, Robot) else _read(robot)


@cache
def _read(source: str) -> Robot:
    from hodyn_ros.robot.files import load_robot

    return load_robot(source)


def _rows(result: Replay, time: RecordedTime, robot: Robot) -> list[Row]:
    """Return a row for each joint; what is not known is None."""
    from hodyn_ros.replay.statements import warnings

    first = result.curves.start if time.first is None else time.first
    last = first if time.last is None else time.last
    counts = result.counts
    common = {
        'robot': result.robot,
        'recorded': first,
        'duration': 1e-9 * (last - first),
        'samples_total': counts.total,
        'samples_used': counts.used,
        'samples_lost': counts.lost_messages,
        'bandwidth': result.bandwidth,
        'gravity_share': result.gravity_share,
        'findings': warnings(result),
    }
    rows = [
        {
            **common,
            'joint': name,  # the driver's may differ from bag to bag
            **{figure: getattr(joint, figure) for figure in FIGURES},
            **_limit_shares(result, i),
        } for i, (name, joint) in enumerate(zip(robot.joint_names, result.joints, strict=True))]
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value
         for key, value in row.items()} for row in rows]


def _limit_shares(result: Replay, joint: int) -> Row:
    """Return the largest value of each quantity of a joint as a part of the way to its limits."""
    return {
        f'{extreme.quantity}_share': extreme.range_share for extreme in result.extremes
        if extreme.joint == result.names[joint] and extreme.quantity in LIMITED}
