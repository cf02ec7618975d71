"""What ``hodyn check`` and ``hodyn annotate`` share: which plan, for which robot."""
from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.many_files import add_many_options
from hodyn_ros.cli.options import add_robot

if TYPE_CHECKING:
    from hodyn_ros.plans.prepare import PlanRequest, PlanSettings, PreparedPlan
    from hodyn_ros.robot import Robot
    from hodyn_ros.robot.reflexes import Commands

WITHIN_LIMITS, BEYOND_LIMITS = 0, 1
"""Exit codes."""


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add the plan and the options for reading it."""
    parser.add_argument(
        'plans', nargs='+', type=Path, metavar='PLAN',
        help='bag with a JointTrajectory, or .yaml, .json, .csv (as docs/references.md, '
        '"References" on the site, shows); or several of them, folders, or a pattern')
    add_robot(parser)
    parser.add_argument('--topic', help='trajectory topic, when the bag has several')
    parser.add_argument(
        '--number', type=int, metavar='N', help='which trajectory of the topic, from 1')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='prefix of the joint names in the plan')
    parser.add_argument(
        '--interpolation', choices=('auto', 'global', 'bounded', 'local'), default='auto',
        help='between the points (default: auto)')
    parser.add_argument(
        '--sample-tolerance', type=float, default=0.0, metavar='RAD',
        help='samples no more than 5 ms apart may be missed by this much, at most 0.01, to smooth '
        'their jitter (default: 0)')
    parser.add_argument(
        '--commands', choices=('effort', 'position'), default='effort',
        help='kind of commands that the arm is sent: it decides which reflexes of the robot '
        'file apply (default: effort)')
    add_many_options(parser)


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
        Prefix of the joint names in the plan, as for `JointNames`.
    interpolation, sample_tolerance : str and float
        As for `reference.fit_plan`.
    commands : 'effort' or 'position'
        As for `PlanSettings`.

    """

    path: Path
    robot: str
    topic: str | None = None
    index: int | None = None
    prefix: str = ''
    interpolation: str = 'auto'
    sample_tolerance: float = 0.0
    commands: Commands = 'effort'

    @classmethod
    def of(cls, options: argparse.Namespace) -> PlanSource:
        """Return the settings given by the options of `add_plan_options`."""
        return cls(
            options.plans[0], options.robot, topic=options.topic, index=options.number,
            prefix=options.joint_prefix, interpolation=options.interpolation,
            sample_tolerance=options.sample_tolerance, commands=options.commands)

    def load_robot(self) -> Robot:
        """Return the robot."""
        from hodyn_ros.robot.files import load_robot

        return load_robot(self.robot)

    def settings(self, **settings: Any) -> PlanSettings:
        """Return how the plan is made, with what else `PlanSettings` take."""
        from hodyn_ros.plans.prepare import PlanSettings

        return PlanSettings(
            joint_prefix=self.prefix, interpolation=self.interpolation,
            sample_tolerance=self.sample_tolerance, commands=self.commands,
            leave_out_other_joints=True, **settings)

    def request(
        self, *, annotate_period: float | None = None, **settings: Any,
    ) -> PlanRequest:
        """Return the request to prepare the plan, with what else `PlanSettings` take."""
        from hodyn_ros.plans.files import read_trajectory
        from hodyn_ros.plans.prepare import PlanRequest

        return PlanRequest(
            read_trajectory(self.path, topic=self.topic, index=self.index),
            self.load_robot(),
            self.settings(**settings), annotate_period=annotate_period)


def outcome(prepared: PreparedPlan) -> str:
    """Return the last line of the output: within limits, or what is beyond them."""
    if prepared.refusal:
        report = prepared.limit_report
        kept = report is not None and report.within_limits
        return f'{"refused" if kept else "beyond limits"}: {prepared.refusal}'
    report, but = prepared.limit_report, prepared.reservations
    if report is not None and not report.knows_limits:
        return f'within all limits (none is known){but}'
    unknown = [] if report is None else report.unknown_quantities
    if unknown:
        return f'within all known limits; no limit is known of {", ".join(unknown)}{but}'
    return f'within all limits{but}'
