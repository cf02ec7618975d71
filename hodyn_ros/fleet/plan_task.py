"""The task of checking, annotating or retiming a plan, and its rows of the summary."""
from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal
import warnings

from hodyn_ros.fleet.task import OK, Job, Outcome, Row, Task
from hodyn_ros.robot import Robot

if TYPE_CHECKING:
    from hodyn_ros.plans.limit_check import LimitReport
    from hodyn_ros.plans.plan_request import PlanSettings
    from hodyn_ros.plans.prepared_plan import PreparedPlan

_ENDINGS = ('.yaml', '.yml', '.json', '.csv')


@dataclass(frozen=True)
class PlanTask(Task):
    """Checks, annotates or retimes a plan as the ``hodyn`` commands do."""

    #: 'check', 'annotate' or 'retime': the command; `check` writes no plan, the other two write
    #: the plan with its torques
    command: Literal['check', 'annotate', 'retime']
    robot: Robot  #: The robot, with the limits that plans may use
    settings: PlanSettings  #: How the plan is prepared; for ``retime`` its stretch is 'retime'
    #: Folder of the fleet: plans go to ``plans/NAME`` in their original format, plans from bags as
    #: ``.yaml``. Existing files are replaced.
    output: Path
    #: `topic`, `index`: str and int, optional: as for `plans.files.read_trajectory`
    topic: str | None = None
    index: int | None = None
    period: float = 5e-3  #: Longest time between written samples, s

    key = 'plan'

    def places(self, name: str) -> list[str]:
        """Return the file that is written for a plan, if any."""
        if self.command == 'check':
            return []
        ending = '' if Path(name).suffix.lower() in _ENDINGS else '.yaml'
        return [f'plans/{name}{ending}']

    def perform(self, job: Job) -> Outcome:
        """Check, annotate or retime a plan."""
        place = next((self.output / place for place in self.places(job.name)), None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always', UserWarning)
            prepared, points = self._prepared(job.path, place)
        plan, report = prepared.plan, prepared.limit_report
        if plan is None or report is None:
            return self.outcome(job, prepared.refusal)
        common: Row = {
            'robot': self.robot.name,
            'output': None if prepared.refusal or place is None else str(place),
            'points': points, 'duration': plan.duration, 'stretch': prepared.stretch,
            'interpolation': plan.interpolation,
            'deviation': prepared.deviation and prepared.deviation.value,
            'reservations': prepared.reservations,
            'findings': [*filter(None, [prepared.note]), *dict.fromkeys(
                str(warning.message) for warning in caught)]}
        too_long = prepared.too_long if self.command == 'check' else ''
        return self.outcome(
            job, prepared.refusal or too_long or OK, [{**common, **row} for row in _rows(report)],
            messages=points)

    def warm_up(self) -> None:
        """Compile the kernels with a short plan."""
        from hodyn_ros.plans.planning_process import warm_up_planning

        warm_up_planning(self.robot)

    def _prepared(self, path: Path, place: Path | None) -> tuple[PreparedPlan, int]:
        from hodyn_ros.plans.annotated_file import write_annotated_plan
        from hodyn_ros.plans.files import read_trajectory
        from hodyn_ros.plans.plan_request import PlanRequest
        from hodyn_ros.plans.prepare import prepare_plan

        trajectory = read_trajectory(path, topic=self.topic, index=self.index)
        points = len(trajectory.times)
        if place is None:
            return prepare_plan(PlanRequest(trajectory, self.robot, self.settings)), points
        # This folder stays even if the plan fails: other workers write to it.
        place.parent.mkdir(parents=True, exist_ok=True)
        return write_annotated_plan(
            PlanRequest(trajectory, self.robot, self.settings, annotate_period=self.period),
            place, force=True), points


def _rows(report: LimitReport) -> list[Row]:
    """Return each joint's share of each limit, and the limit that it comes nearest to."""
    rows: dict[str, Row] = {}
    for entry in report.worst:
        row = rows.setdefault(entry.joint, {'joint': entry.joint})
        share = entry.range_share if math.isfinite(entry.range_share) else None
        row[f'{entry.quantity}_share'] = share
        if share is not None and share > row.get('nearest_share', -1.0):
            row.update(nearest=entry.quantity, nearest_time=entry.time, nearest_share=share)
    return list(rows.values())
