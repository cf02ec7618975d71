"""The interface that makes plans from trajectories, and its answers."""
from dataclasses import dataclass
from typing import Protocol

from hodyn_ros.common.arrays import Array
from hodyn_ros.reference.manager import ReferenceManager
from hodyn_ros.reference.plan import Plan
from hodyn_ros.robot import Robot


@dataclass(frozen=True, eq=False)
class Accepted:
    """A plan that the reference follows once it starts."""

    plan: Plan  #: The plan that is followed
    #: Speed relative to the times of the points; None if the plan does not use these times
    pace: float | None = 1.0
    summary: str = ''  #: A line for the log
    message: bytes = b''  #: The annotated plan, serialized, if it was requested
    wait: float = 0.0  #: Time until the plan starts, s
    dropped: int = 0  #: Number of waiting plans with later starts that this plan replaces
    late: str = ''  #: What the plan misses, as it begins after its stamp; else empty
    doubt: str = ''  #: Questions about the units of its points; may be empty


@dataclass(frozen=True)
class Refused:
    """Why a trajectory is not followed."""

    why: str  #: The reason, in a line
    #: 'joints', 'past', 'other' or '': kind of the fault in the trajectory; empty for other
    #: reasons
    fault: str = ''
    traceback: str = ''  #: The traceback of an error in this program, else empty


class PlanMaker(Protocol):
    """Makes plans from trajectories while cycles go on; see `plans.planner.Planner`."""

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""

    def submit(
        self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool,
        left_out: int = 0,
    ) -> None:
        """Make a plan from a serialized trajectory; it replaces a plan that is being made.

        `now`, ns, is an instant of the reference; stamps are `left_out`, ns, ahead of instants.
        """

    def poll(self, reference: ReferenceManager, now: int) -> Accepted | Refused | None:
        """Let the reference follow a plan that is ready; return the answer, None without one."""

    def submit_base(self, data: bytes, placement: Array, now: int) -> int:
        """Make a plan of the base from serialized poses; return the stamp of its start, ns.

        `placement`, (4, 4), is the pose of the moving frame in the axes of the base's body; `now`
        is the present stamp, ns.
        """

    def poll_base(self) -> Accepted | Refused | None:
        """Return the answer to the last poses of a base; None if it is not ready.

        The 12 columns of an accepted plan are the rows of the rotation, then the position.
        """

    def cancel(self) -> bool:
        """Drop the plan that is being made; return whether there was one."""

    def change_robot(self, robot: Robot) -> None:
        """Make plans for another model from now on."""
