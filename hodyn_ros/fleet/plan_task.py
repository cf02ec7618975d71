"""A plan checked, annotated or retimed, and its rows of the summary."""
from __future__ import annotations

from dataclasses import dataclass
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal
import warnings

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.outcome import (
    OK,
    Job,
    Outcome,
    Row,
    failed,
    failed_by,
    printable,
    remove_results,
)
from hodyn_ros.robot import Robot

if TYPE_CHECKING:
    from hodyn_ros.plans.limit_check import LimitReport
    from hodyn_ros.plans.prepare import PlanSettings, PreparedPlan

PLANS = 'plans'
"""Folder of the plans that are written."""

_ENDINGS = ('.yaml', '.yml', '.json', '.csv')


@dataclass(frozen=True)
class PlanTask:
    """Does with a plan what ``hodyn check``, ``annotate`` or ``retime`` do.

    Attributes
    ----------
    command : 'check', 'annotate' or 'retime'
        Whether the plan is only judged, or written with its torques.
    robot : Robot
        The robot, with limits that may be used.
    settings : PlanSettings
        How the plan is made; with the stretch 'retime' for that command.
    output : Path
        Folder of the fleet: plans go to ``plans/NAME``, of the same kind as they came, and those
        of bags as ``.yaml``. What is there is replaced.
    topic, index : str and int, optional
        As for `plans.files.read_trajectory`.
    period : float
        s, at most, between the samples that are written.

    """

    command: Literal['check', 'annotate', 'retime']
    robot: Robot
    settings: PlanSettings
    output: Path
    topic: str | None = None
    index: int | None = None
    period: float = 5e-3

    key = 'plan'

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders in which it writes: a check writes no plans."""
        return () if self.command == 'check' else (PLANS,)

    def __call__(self, path: Path, name: str = '') -> Outcome:
        """Do it with a plan; what is wrong with it is told by the status, and not raised.

        Parameters
        ----------
        path : Path
            A plan file, or a bag.
        name : str
            Its name among those of the fleet; that of the file by default.

        """
        path = Path(path)
        name = printable(name or path.name)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter('always', UserWarning)
                prepared, points = self._prepared(path, self.place(name))
        except (HodynError, OSError) as error:
            return failed_by(self.key, Job(name, path), error)
        if prepared.plan is None or prepared.limit_report is None:
            return failed(self.key, Job(name, path), prepared.refusal, is_final=True)
        findings = [*filter(None, [prepared.note]), *dict.fromkeys(
            str(warning.message) for warning in caught)]
        common: Row = {
            self.key: name, 'path': str(path), 'status': prepared.refusal or OK,
            'robot': self.robot.name,
            'output': None if prepared.refusal or self.command == 'check' else str(
                self.place(name)),
            'points': points, 'duration': prepared.plan.duration, 'stretch': prepared.stretch,
            'interpolation': prepared.plan.interpolation,
            'deviation': prepared.deviation and prepared.deviation.value, 'findings': findings}
        return Outcome(
            name, prepared.refusal or OK,
            [{**common, **row} for row in _rows(prepared.limit_report)], messages=points)

    def place(self, name: str) -> Path:
        """Return where a plan is written."""
        path = self.output / PLANS / name
        return path if path.suffix.lower() in _ENDINGS else path.with_name(f'{path.name}.yaml')

    def places(self, name: str) -> tuple[Path, ...]:
        """Return the file that is written for a plan, if any."""
        return () if self.command == 'check' else (self.place(name),)

    def present(self, name: str) -> list[Path]:
        """Return that file if it is there."""
        return [path for path in self.places(name) if os.path.lexists(path)]

    def remove(self, name: str) -> None:
        """Remove what an earlier run wrote for a plan."""
        remove_results(self.present(name), self.output)

    def warm_up(self) -> None:
        """Compile the kernels, by a plan of two points."""
        from hodyn_ros.plans.planning_process import warm_up_planning

        warm_up_planning(self.robot)

    def _prepared(self, path: Path, place: Path) -> tuple[PreparedPlan, int]:
        from hodyn_ros.plans.annotated_file import write_annotated_plan
        from hodyn_ros.plans.files import read_trajectory
        from hodyn_ros.plans.prepare import PlanRequest, prepare_plan

        trajectory = read_trajectory(path, topic=self.topic, index=self.index)
        if self.command == 'check':
            prepared = prepare_plan(PlanRequest(trajectory, self.robot, self.settings))
        else:
            # It stays, whatever becomes of the plan: other workers write to it.
            place.parent.mkdir(parents=True, exist_ok=True)
            prepared = write_annotated_plan(
                PlanRequest(
                    trajectory, self.robot, self.settings, annotate_period=self.period),
                place, force=True)
        return prepared, len(trajectory.times)


def _rows(report: LimitReport) -> list[Row]:
    """Return for each joint the share of each limit, and which of them it comes closest to."""
    rows: dict[str, Row] = {}
    for entry in report.worst:
        row = rows.setdefault(entry.joint, {'joint': entry.joint})
        share = entry.range_share if math.isfinite(entry.range_share) else None
        row[f'{entry.quantity}_share'] = share
        if share is not None and share > row.get('nearest_share', -1.0):
            row.update(nearest=entry.quantity, nearest_time=entry.time, nearest_share=share)
    return list(rows.values())
