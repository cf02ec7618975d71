"""Trajectories before they run: read, accepted, fitted, judged, annotated."""
from hodyn_ros.plans.annotate import Annotated, annotate
from hodyn_ros.plans.prepare import PlanRequest, PreparedPlan, prepare_plan
from hodyn_ros.plans.trajectory import Points, Trajectory, accept

__all__ = [
    'Annotated', 'PlanRequest', 'Points', 'PreparedPlan', 'Trajectory', 'accept', 'annotate',
    'prepare_plan',
]
