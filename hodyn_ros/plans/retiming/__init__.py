"""The fastest motion along the path of a plan that every limit allows."""
from hodyn_ros.plans.retiming.retime import Retimed, RetimeSettings, retime, retime_plan

__all__ = ['RetimeSettings', 'Retimed', 'retime', 'retime_plan']
