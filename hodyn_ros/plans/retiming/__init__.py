"""The fastest motion along the path of a plan within all limits."""
from hodyn_ros.plans.retiming.result import Binding, Retimed
from hodyn_ros.plans.retiming.search import Progress, retime, retime_path, retime_plan

__all__ = ['Binding', 'Progress', 'Retimed', 'retime', 'retime_path', 'retime_plan']
