"""Higher-order rigid-body dynamics of robots."""
from importlib import metadata
import sys

from hodyn_ros.dynamics.equations_of_motion import (
    EquationsOfMotion,
    christoffel_symbols,
    equations_of_motion,
)
from hodyn_ros.dynamics.forward_dynamics import forward_dynamics
from hodyn_ros.dynamics.forward_kinematics import forward_kinematics, jacobian
from hodyn_ros.dynamics.hybrid_dynamics import hybrid_dynamics
from hodyn_ros.dynamics.integration import simulate, simulate_by_euler
from hodyn_ros.dynamics.inverse_dynamics import InverseDynamics, inverse_dynamics
from hodyn_ros.dynamics.inverse_kinematics import inverse_kinematics
from hodyn_ros.dynamics.pose_solver import solve_pose
from hodyn_ros.dynamics.propellers import propeller_map, tilted_hexagon
from hodyn_ros.dynamics.task_space import TaskSpaceDynamics, link_wrench, task_space_dynamics
from hodyn_ros.dynamics.wrenches import (
    body_wrench,
    external_efforts,
    gravity_wrenches,
    world_wrench,
)
from hodyn_ros.robot import Body, HodynError, Limits, Robot
from hodyn_ros.robot.files import actuators as _actuator_files
from hodyn_ros.robot.files import load_robot, robot_names
from hodyn_ros.robot.files.joint_geometry import dh, modified_dh, product_of_exponentials

# The docs of 0.1 named this module by its old place, which works for one more release.
actuator_files = sys.modules['hodyn_ros.actuator_files'] = _actuator_files

try:
    __version__ = metadata.version('hodyn_ros')
except metadata.PackageNotFoundError:  # a checkout on the path
    __version__ = 'unknown'

__all__ = [
    'Body', 'EquationsOfMotion', 'HodynError', 'InverseDynamics', 'Limits', 'Robot',
    'TaskSpaceDynamics',
    'body_wrench', 'christoffel_symbols', 'dh', 'equations_of_motion', 'external_efforts',
    'forward_dynamics', 'forward_kinematics', 'gravity_wrenches', 'hybrid_dynamics',
    'inverse_dynamics', 'inverse_kinematics', 'jacobian', 'link_wrench', 'load_robot',
    'modified_dh', 'product_of_exponentials', 'propeller_map', 'robot_names', 'simulate',
    'simulate_by_euler', 'solve_pose', 'task_space_dynamics', 'tilted_hexagon', 'world_wrench',
]
