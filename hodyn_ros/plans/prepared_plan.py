"""What `prepare_plan` returns: a plan that may run, or the reason why it is refused."""
from dataclasses import dataclass
from typing import Literal

from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.plans.annotate import Annotated
from hodyn_ros.plans.deviation import Deviation
from hodyn_ros.plans.limit_check import LimitReport
from hodyn_ros.plans.retiming.result import Retimed
from hodyn_ros.plans.waypoints import AcceptedWaypoints, EndedError, OtherJointsError
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError

Fault = Literal['', 'joints', 'past', 'other']


@dataclass(frozen=True, eq=False)
class PreparedPlan:
    """The plan made from a trajectory, or the reason why it is refused.

    Attributes
    ----------
    refusal : str
        Why the plan must not run; empty if it may.
    fault : 'joints', 'past', 'other' or ''
        Kind of the refusal, if the trajectory could not be accepted: it names other joints, ended
        before it could begin, or is otherwise wrong.
    plan, limit_report : Plan and LimitReport, or None
        The fitted plan, stretched with 'auto' if necessary, and its margins to the limits; None if
        the trajectory was not accepted.
    stretch : float or None
        Factor on the duration that brings the plan within limits ('auto' has applied it); 1 if
        none is needed, None if none was found or searched for.
    annotated : Annotated or None
        The plan with efforts, if this was requested and the plan is not refused.
    overshoot : float
        Distance, rad or m, by which the worst joint leaves the range of its points.
    deviation : Deviation or None
        Where the plan misses its points most; None if the trajectory was not accepted.
    note : str
        Remarks that do not refuse the plan, such as an overshoot or unused efforts.
    seconds : float
        Time that a `PlanWorker` took to prepare the plan, s; else 0.
    message : bytes
        The annotated plan as a serialized JointTrajectory, from a `PlanWorker`; else empty.
    traceback : str
        Traceback of a bug in this program for which the plan is refused; else empty.
    retimed : Retimed or None
        With the stretch 'retime', the result of the search.
    reflexes : tuple of LimitMargin
        How close the plan comes to each reflex of the vendor's controller, the closest first.
    late : str
        From a `PlanWorker`: what the plan misses that begins after its stamp; else empty.
    doubts : tuple of str
        Probable errors of the points: times in milliseconds, velocities that contradict positions,
        positions that contradict the coupling of joints, a duration that the node refuses.
    too_long : str
        That the node refuses a plan of this duration, which others may run; else empty.
    unchecked : str
        The motion to the first point, if it is not in the plan and not checked; else empty.
    points : AcceptedWaypoints or None
        Points of the plan, in the robot's order of joints; None if they were not accepted.

    """

    refusal: str
    plan: Plan | None = None
    limit_report: LimitReport | None = None
    stretch: float | None = None
    annotated: Annotated | None = None
    overshoot: float = 0.0
    deviation: Deviation | None = None
    note: str = ''
    seconds: float = 0.0
    message: bytes = b''
    traceback: str = ''
    retimed: Retimed | None = None
    reflexes: tuple[LimitMargin, ...] = ()
    points: AcceptedWaypoints | None = None
    fault: Fault = ''
    unchecked: str = ''
    late: str = ''
    doubts: tuple[str, ...] = ()
    too_long: str = ''

    @property
    def summary(self) -> str:
        """Summary of the plan in a line: its refusal, or its size and its note."""
        if self.refusal or self.plan is None:
            return self.refusal
        kind = self.plan.interpolation
        how = kind if kind == 'retimed' else f'{kind} interpolation'
        line = (
            f'{self.plan.times.size} knots, {self.plan.duration:.3f} s, {how}, '
            f'prepared in {self.seconds * 1e3:.0f} ms')
        if self.stretch is not None and self.stretch > 1.0:
            line += f', made {self.stretch:.4f} times slower'
        return f'{line}; {self.note}' if self.note else line

    @property
    def reservations(self) -> str:
        """Exceptions to add to 'within all limits': missed points, unchecked motion, doubts."""
        unchecked = 'the motion to the first point is not in the plan and not checked'
        missed = str(self.deviation) if self.deviation and self.deviation.value else ''
        said = sorted(filter(None, (
            missed, unchecked if self.unchecked else '', *self.doubts)),
            key=lambda what: what.endswith('?'))
        begin = ', but ' if said and not said[0].endswith('?') else '; '
        return begin + '; '.join(said) if said else ''


def refused(error: HodynError, contradiction: str = '') -> PreparedPlan:
    """Return the refusal of a faulty trajectory, with a contradiction of its points."""
    fault: Fault = (
        'joints' if isinstance(error, OtherJointsError)
        else 'past' if isinstance(error, EndedError) else 'other')
    return PreparedPlan('; '.join(filter(None, (str(error), contradiction))), fault=fault)
