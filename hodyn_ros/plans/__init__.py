"""Trajectories before they run: reads, accepts, fits, checks and annotates them."""
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.annotate import Annotated, annotate
from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
from hodyn_ros.plans.prepare import prepare_plan
from hodyn_ros.plans.prepared_plan import PreparedPlan
from hodyn_ros.plans.waypoints import AcceptedWaypoints, accept

__all__ = [
    'AcceptedWaypoints', 'Annotated', 'JointWaypoints', 'PlanRequest', 'PlanSettings',
    'PreparedPlan', 'accept', 'annotate', 'prepare_plan',
]
