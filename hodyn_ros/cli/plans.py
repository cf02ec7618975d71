"""``hodyn check`` and ``hodyn annotate``."""
from dataclasses import asdict, dataclass
import json
import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.annotate import PERIOD
from hodyn_ros.plans.curves import draw_curves
from hodyn_ros.plans.files import read_trajectory, write_annotated
from hodyn_ros.plans.limits import LimitReport
from hodyn_ros.plans.prepare import (
    PlanRequest,
    PlanSettings,
    PreparedPlan,
    StretchMode,
    prepare_plan,
)
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files.loader import load_robot

WITHIN_LIMITS, BEYOND_LIMITS = 0, 1


@dataclass(frozen=True)
class PlanSource:
    """A plan, the robot that it is for, and how to read it.

    Attributes
    ----------
    path : Path
        The plan file, or a bag.
    robot : str
        Built-in name or path of a robot file.
    topic, index : str and int, optional
        As for `read_trajectory`.
    prefix : str
        Of the joint names in the plan, as for `JointNames`.
    interpolation, sample_tolerance : str and float
        As for `reference.fit_plan`.

    """

    path: Path
    robot: str
    topic: str | None = None
    index: int | None = None
    prefix: str = ''
    interpolation: str = 'auto'
    sample_tolerance: float = 0.0

    def request(
        self, *, annotate_period: float | None = None, **settings: Any,
    ) -> PlanRequest:
        """Return the request to prepare the plan, with what else `PlanSettings` take."""
        return PlanRequest(
            read_trajectory(self.path, topic=self.topic, index=self.index),
            load_robot(self.robot),
            PlanSettings(
                joint_prefix=self.prefix, interpolation=self.interpolation,
                sample_tolerance=self.sample_tolerance, **settings),
            annotate_period=annotate_period)


def run_check(
    source: PlanSource, *, output: Path | None = None, json_file: Path | None = None,
) -> int:
    """Judge a plan file; print the worst value of each quantity of each joint.

    Parameters
    ----------
    source : PlanSource
        What to judge.
    output : Path, optional
        Image file for the curves.
    json_file : Path, optional
        For the same figures, to be read by programs.

    Returns
    -------
    int
        0 within limits, 1 beyond.

    Raises
    ------
    HodynError, OSError
        On bad input.

    """
    request = source.request()
    prepared = prepare_plan(request)
    plan, limit_report = prepared.plan, prepared.limit_report
    if plan is None or limit_report is None:
        raise HodynError(f'{source.path}: {prepared.refusal}')
    console = Console()
    console.print(
        f'{source.path}: {len(request.trajectory.times)} points, {plan.duration:.3f} s, '
        f'{plan.interpolation} interpolation', highlight=False, soft_wrap=True)
    console.print(_table(limit_report))
    if prepared.note:
        print(f'note: {prepared.note}')
    print(_verdict(prepared))
    if output is not None:
        draw_curves(plan, FeedForward(request.robot), output)
        print(f'curves: {output}')
    if json_file is not None:
        json_file.write_text(json.dumps({
            'within_limits': limit_report.within_limits,
            'refusal': prepared.refusal,
            'stretch': prepared.stretch,
            'duration': plan.duration,
            'interpolation': plan.interpolation,
            'overshoot': prepared.overshoot,
            'worst': _entries(limit_report),
        }, indent=1), encoding='utf-8')
    return WITHIN_LIMITS if limit_report.within_limits else BEYOND_LIMITS


def run_annotate(
    source: PlanSource,
    output: Path,
    *,
    period: float = PERIOD,
    stretch: StretchMode = 'offer',
    gravity: bool = True,
    friction: bool = True,
) -> int:
    """Write a plan file resampled, with the efforts that it takes; nothing if it passes limits.

    Parameters
    ----------
    source : PlanSource
        What to resample.
    output : Path
        As for `write_annotated`.
    period : float
        s, at most, between the samples.
    stretch : 'off', 'offer' or 'auto'
        What to do when limits are passed, as for `PlanSettings`.
    gravity, friction : bool
        Whether the efforts contain these terms.

    Returns
    -------
    int
        0 when written, 1 when beyond limits.

    Raises
    ------
    HodynError, OSError
        On bad input.

    """
    prepared = prepare_plan(source.request(
        stretch=stretch, annotate_period=period, gravity=gravity, friction=friction))
    if prepared.plan is None:
        raise HodynError(f'{source.path}: {prepared.refusal}')
    if prepared.annotated is None:
        print(_verdict(prepared))
        return BEYOND_LIMITS
    write_annotated(prepared.annotated, output)
    slower = '' if prepared.stretch == 1.0 else f', {prepared.stretch} times slower'
    print(f'{output}: {len(prepared.annotated.times)} points, {prepared.plan.duration:.3f} s'
          f'{slower}')
    if prepared.note:
        print(f'note: {prepared.note}')
    return WITHIN_LIMITS


def _verdict(prepared: PreparedPlan) -> str:
    return f'beyond limits: {prepared.refusal}' if prepared.refusal else 'within all limits'


def _table(limit_report: LimitReport) -> Table:
    table = Table()
    table.add_column('joint', no_wrap=True)
    table.add_column('quantity', no_wrap=True)
    for heading in ('worst', 'limit', 'margin', 'time (s)'):
        table.add_column(heading, justify='right', no_wrap=True)
    table.add_column('unit', no_wrap=True)
    previous = ''
    for entry in limit_report.worst:
        if previous not in ('', entry.joint):
            table.add_section()
        known = math.isfinite(entry.limit)
        table.add_row(
            '' if entry.joint == previous else entry.joint, entry.quantity,
            f'{entry.value:.4g}', f'{entry.limit:.4g}' if known else 'unknown',
            f'{entry.margin:.3g}' if known else '', f'{entry.time:.3f}', entry.unit,
            style='bold red' if entry.exceeded else None)
        previous = entry.joint
    return table


def _entries(limit_report: LimitReport) -> list[dict[str, Any]]:
    entries = []
    for entry in limit_report.worst:
        figures = asdict(entry)
        for key in ('lower', 'upper'):
            # JSON has no infinity: an unknown limit is null.
            figures[key] = figures[key] if math.isfinite(figures[key]) else None
        entries.append({**figures, 'exceeded': entry.exceeded})
    return entries
