"""Trajectories before they run: read, accepted, fitted, judged, annotated."""
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.annotate import Annotated, annotate
from hodyn_ros.plans.prepare import PlanRequest, PreparedPlan, prepare_plan
from hodyn_ros.plans.waypoints import AcceptedWaypoints, accept

__all__ = [
    'AcceptedWaypoints', 'Annotated', 'JointWaypoints', 'PlanRequest', 'PreparedPlan', 'accept',
    'annotate', 'prepare_plan',
]
