"""References that are continuous to the fourth derivative: plans, streams and stops."""
from hodyn_ros.reference.extrema import extrema
from hodyn_ros.reference.fit import fit_plan, overshoot
from hodyn_ros.reference.limits import MotionLimits
from hodyn_ros.reference.plan import Plan, hold_plan
from hodyn_ros.reference.pose_plan import PosePlan, fit_pose_plan
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.reference.stop import stop_along
from hodyn_ros.reference.stream import Stream

__all__ = [
    'MotionLimits', 'Plan', 'PosePlan', 'SmoothingFilter', 'Stream', 'extrema', 'fit_plan',
    'fit_pose_plan', 'hold_plan', 'overshoot', 'stop_along']
