"""What becomes of a trajectory that was asked for."""
from dataclasses import dataclass

from hodyn_ros.reference.plan import Plan


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

    """

    plan: Plan
    pace: float | None = 1.0
    summary: str = ''
    message: bytes = b''


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
