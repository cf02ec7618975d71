"""Who makes trajectories plans, and what becomes of one that was asked for."""
from dataclasses import dataclass
from typing import Protocol

from hodyn_ros.reference.manager import ReferenceManager
from hodyn_ros.reference.plan import Plan
from hodyn_ros.robot import Robot


@dataclass(frozen=True, eq=False)
class Accepted:
    """A plan that the reference follows from now on, or from its start.

    Attributes
    ----------
    plan : Plan
        What is followed.
    pace : float or None
        How fast it runs, 1 as its points ask for; None where it has times of its own.
    summary : str
        What there is to say of it, in a line.
    message : bytes
        The annotated plan, serialized, where it was asked for.
    wait : float
        How long it waits for its start, s.
    dropped : int
        How many plans that would have started later it replaces.

    """

    plan: Plan
    pace: float | None = 1.0
    summary: str = ''
    message: bytes = b''
    wait: float = 0.0
    dropped: int = 0


@dataclass(frozen=True)
class Refused:
    """Why a trajectory is not followed.

    Attributes
    ----------
    why : str
        The reason, in a line.
    fault : 'joints', 'past', 'other' or ''
        Of what kind it is, where the trajectory could not be accepted.
    traceback : str
        Of an error in this program, if it was one.

    """

    why: str
    fault: str = ''
    traceback: str = ''


class PlanMaker(Protocol):
    """Makes trajectories plans, without a cycle waiting for it; see `plans.planner.Planner`."""

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""

    def submit(
        self, data: bytes, reference: ReferenceManager, now: int, *, annotate: bool,
        left_out: int = 0,
    ) -> None:
        """Have a serialized trajectory made a plan, in the place of one that is being made."""

    def poll(self, reference: ReferenceManager, now: int) -> Accepted | Refused | None:
        """Let the reference follow a plan that is ready; None if there is none."""

    def cancel(self) -> bool:
        """Drop the plan that is being made; return whether there was one."""

    def change_robot(self, robot: Robot) -> None:
        """Make plans for another model from now on."""
