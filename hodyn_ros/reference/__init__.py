"""References that are continuous to the fourth derivative: plans and filtered streams."""
from hodyn_ros.reference.extrema import extrema
from hodyn_ros.reference.fit import fit_plan, overshoot
from hodyn_ros.reference.plan import Plan
from hodyn_ros.reference.stop import hold_plan, stop_plan
from hodyn_ros.reference.stream import StreamFilter

__all__ = ['Plan', 'StreamFilter', 'extrema', 'fit_plan', 'hold_plan', 'overshoot', 'stop_plan']
