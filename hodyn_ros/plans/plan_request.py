"""What is asked of `prepare_plan`: a trajectory, a robot, and how the plan is to be made."""
from dataclasses import dataclass
import reprlib
from typing import Literal, get_args

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import check_choice
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.annotate import Annotated, annotate
from hodyn_ros.plans.retiming.search import PATH_TOLERANCE
from hodyn_ros.reference import Plan
from hodyn_ros.reference.fit import INTERPOLATIONS, OVERSHOOT_TOLERANCE, START_TOLERANCE
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.reflexes import COMMANDS, Commands
from hodyn_ros.robot.robot_check import check_robot

ONE_CLOCK = (
    'let planner and driver use one clock (in a simulation, use_sim_time: true for both), or send '
    'a stamp of 0 to start at once')
StretchMode = Literal['off', 'offer', 'auto', 'retime']


@dataclass(frozen=True)
class PlanSettings:
    """Settings for making plans from trajectories.

    Attributes
    ----------
    joint_prefix, allow_other_model, driver_prefix : str, bool, and str or None
        How joint names are mapped, see `robot.joint_names.JointNames`.
    interpolation : str
        See `reference.fit_plan`.
    overshoot_tolerance : float
        See `retiming.path.allowed_overshoot`.
    start_tolerance, sample_tolerance : float
        See `reference.fit_plan`.
    stretch : 'off', 'offer', 'auto' or 'retime'
        What to do with a plan beyond limits: 'off' refuses it, 'offer' refuses it and gives the
        stretch that fixes it, 'auto' stretches it. 'retime' runs the path of any plan as fast as
        the limits allow.
    stop_at, path_tolerance, smoothness : tuple of int, float, float
        With 'retime': as for `retiming.retime`.
    allow_nonzero_velocity_at_end : bool
        Whether a trajectory may end in motion. If not, it is refused, with 'retime' even before
        its check. Retimed plans always end at rest.
    leave_out_other_joints : bool
        Whether joints besides the robot's, such as a gripper's, are left out instead of refused.
    gravity, friction : bool
        Whether the annotated efforts contain these terms.
    commands : 'effort' or 'position'
        Kind of commands that the arm is sent, on which its reflexes depend.

    """

    joint_prefix: str = ''
    allow_other_model: bool = False
    driver_prefix: str | None = None
    interpolation: str = 'auto'
    overshoot_tolerance: float = OVERSHOOT_TOLERANCE
    start_tolerance: float = START_TOLERANCE
    sample_tolerance: float = 0.0
    stretch: StretchMode = 'offer'
    stop_at: tuple[int, ...] = ()
    path_tolerance: float = PATH_TOLERANCE
    smoothness: float = 0.0
    allow_nonzero_velocity_at_end: bool = False
    leave_out_other_joints: bool = False
    gravity: bool = True
    friction: bool = True
    commands: Commands = 'effort'

    def __post_init__(self) -> None:
        for name, choices in (
            ('interpolation', INTERPOLATIONS), ('stretch', get_args(StretchMode)),
            ('commands', COMMANDS),
        ):
            check_choice(getattr(self, name), name, choices)


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A trajectory, the robot that is to follow it, and the settings for its plan.

    Attributes
    ----------
    trajectory : JointWaypoints
        The waypoints, unchecked.
    robot : Robot
        The robot.
    settings : PlanSettings
        How the plan is made.
    start : (5, n) array or None
        q … q⁗ of the active reference at the trajectory's time 0; with None the plan starts at
        the first point, at rest unless this has a velocity.
    annotate_period : float or None
        Largest time between annotated samples, s; None for no samples.

    """

    trajectory: JointWaypoints
    robot: Robot
    settings: PlanSettings = PlanSettings()
    start: Array | None = None
    annotate_period: float | None = None

    def __post_init__(self) -> None:
        check_robot(self.robot)
        if not isinstance(self.trajectory, JointWaypoints):
            raise HodynError(
                'trajectory: expected JointWaypoints(names, times, positions), got '
                f'{reprlib.repr(self.trajectory)}')

    def annotated(self, plan: Plan, names: tuple[str, ...], period: float) -> Annotated:
        """Return samples of a plan, at most `period` s apart, with the efforts asked for."""
        return annotate(
            plan, FeedForward(self.robot), period, names=names, gravity=self.settings.gravity,
            friction=self.settings.friction)
