"""The task of replaying a recording: its report, Parquet file, and rows of the summary."""
from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
import math
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from hodyn_ros.fleet.summary import FIGURES, LIMITED
from hodyn_ros.fleet.task import OK, Job, Outcome, Row, Task
from hodyn_ros.robot import Robot

if TYPE_CHECKING:
    from hodyn_ros.replay.replay_bag import Replay

REPORTS = 'reports'
"""Folder of the reports."""


@dataclass(frozen=True)
class ReplayTask(Task):
    """Replays a recording as ``hodyn replay`` does, into the folder of a fleet."""

    robot: Robot | str  #: The robot, or a built-in name or path that every worker can read
    #: Folder of the fleet: a bag's report goes to ``reports/NAME``, its Parquet file to
    #: ``motion/robot=ROBOT/bag=NAME``. Existing files are replaced.
    output: Path
    topic: str | None = None  #: As for `replay.replay_file`
    prefix: str = ''  #: As for `replay.replay_file`
    bandwidth: float | None = None  #: As for `replay.replay_file`
    csv: bool = False  #: As for `replay.replay_file`
    report: bool = True  #: As for `replay.replay_file`
    payload: tuple[str, ...] = ()  #: As for `replay.replay_file`

    key = 'bag'

    def places(self, name: str) -> list[str]:
        """Return the Parquet file of a bag, and the files of its report."""
        from hodyn_ros.replay.report import CONTENTS

        robot, bag = (quote(text, safe='') for text in (_loaded(self.robot).name, name))
        return [
            f'motion/robot={robot}/bag={bag}/computed.parquet',
            *(f'{REPORTS}/{name}/{file}' for file in CONTENTS.all_files())]

    def perform(self, job: Job) -> Outcome:
        """Replay a bag."""
        from hodyn_ros.replay.replay_file import replay_file

        robot = _loaded(self.robot)
        parquet, report = self.output / self.places(job.name)[0], self.output / REPORTS / job.name
        is_new = not parquet.exists()
        for parent in (report.parent, parquet.parent):
            parent.mkdir(parents=True, exist_ok=True)
        try:
            result = replay_file(
                job.path, robot, report, topic=self.topic, prefix=self.prefix,
                bandwidth=self.bandwidth, csv=self.csv, parquet=parquet, report=self.report,
                payload=self.payload, force=True)
        except BaseException:
            if is_new:
                parquet.unlink(missing_ok=True)
            with suppress(OSError):  # only its own folder; other workers use those above
                parquet.parent.rmdir()
            raise
        counts = result.counts
        return self.outcome(
            job, counts.damage or OK, _rows(result, robot), messages=counts.total)

    def warm_up(self) -> None:
        """Compile the kernels with a short motion."""
        from hodyn_ros.replay.warm_up import warm_up

        warm_up(_loaded(self.robot))


def _loaded(robot: Robot | str) -> Robot:
    return robot if isinstance(robot, Robot) else _read(robot)


@cache
def _read(source: str) -> Robot:
    from hodyn_ros.robot.files import load_robot

    return load_robot(source)


def _rows(result: Replay, robot: Robot) -> list[Row]:
    """Return a row for each joint; unknown values are None."""
    from hodyn_ros.replay.statements import warnings

    counts, (first, last) = result.counts, result.received
    common = {
        'robot': result.robot,
        'recorded': first,
        'duration': 1e-9 * (last - first),
        'samples_total': counts.total,
        'samples_used': counts.used,
        'samples_lost': counts.lost_messages,
        'bandwidth': result.bandwidth,
        'gravity_share': result.diagnosis.efforts.gravity_share,
        'findings': warnings(result),
    }
    rows = [
        {
            **common,
            'joint': name,  # the driver's name may differ from bag to bag
            **{figure: getattr(joint, figure) for figure in FIGURES},
            # The largest used share of each limit.
            **{f'{extreme.quantity}_share': extreme.range_share for extreme in result.extremes
               if extreme.joint == driver_name and extreme.quantity in LIMITED},
        } for name, driver_name, joint in zip(
            robot.joint_names, result.names, result.joints, strict=True)]
    return [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value
         for key, value in row.items()} for row in rows]
