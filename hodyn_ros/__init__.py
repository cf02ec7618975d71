"""Higher-order rigid-body dynamics of robots."""
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodyn_ros.codegen import (
        GeneratedCode,
        SymbolicTorques,
        generate_c,
        symbolic_torques,
    )
    from hodyn_ros.codegen.ros2_control import generate_ros2_control
    from hodyn_ros.dynamics.closed_form import ClosedForm, closed_form
    from hodyn_ros.dynamics.equations_of_motion import (
        EquationsOfMotion,
        christoffel_symbols,
        equations_of_motion,
    )
    from hodyn_ros.dynamics.follow_path import follow_path
    from hodyn_ros.dynamics.forward_dynamics import (
        ForwardDynamics,
        ForwardDynamicsDerivatives,
        forward_dynamics,
        forward_dynamics_derivatives,
    )
    from hodyn_ros.dynamics.forward_kinematics import forward_kinematics, jacobian
    from hodyn_ros.dynamics.hybrid_dynamics import hybrid_dynamics
    from hodyn_ros.dynamics.integration import simulate, simulate_by_euler
    from hodyn_ros.dynamics.inverse_dynamics import InverseDynamics, inverse_dynamics
    from hodyn_ros.dynamics.inverse_dynamics_derivatives import (
        InverseDynamicsDerivatives,
        inverse_dynamics_derivatives,
    )
    from hodyn_ros.dynamics.inverse_kinematics import inverse_kinematics
    from hodyn_ros.dynamics.joint_wrenches import joint_wrenches
    from hodyn_ros.dynamics.momentum import Energy, center_of_mass, energy, momentum
    from hodyn_ros.dynamics.pose_motion import pose_derivatives, pose_twist
    from hodyn_ros.dynamics.pose_solver import solve_pose
    from hodyn_ros.dynamics.propellers import propeller_map, tilted_hexagon
    from hodyn_ros.dynamics.regressor import (
        inertial_parameters,
        momentum_regressor,
        torque_regressor,
    )
    from hodyn_ros.dynamics.spherical_joints import SphericalJoint
    from hodyn_ros.dynamics.task_space import TaskSpaceDynamics, link_wrench, task_space_dynamics
    from hodyn_ros.dynamics.wrenches import (
        body_wrench,
        external_efforts,
        gravity_wrenches,
        world_wrench,
    )
    from hodyn_ros.feedforward import FeedForward, MotorSide
    from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback
    from hodyn_ros.plans import (
        JointWaypoints,
        PlanRequest,
        PlanSettings,
        PreparedPlan,
        prepare_plan,
    )
    from hodyn_ros.plans.retiming import Retimed, retime
    from hodyn_ros.reference import Plan, PosePlan, fit_plan, fit_pose_plan
    from hodyn_ros.robot import Body, HodynError, Limits, Robot
    from hodyn_ros.robot.files import load_robot, robot_names, save_robot, with_actuators
    from hodyn_ros.robot.files.joint_geometry import dh, modified_dh, product_of_exponentials

# The module of each public name, imported at the first use of the name:
# importing numba takes a second.
_PLACES = {
    'codegen': 'GeneratedCode SymbolicTorques generate_c symbolic_torques',
    'codegen.ros2_control': 'generate_ros2_control',
    'dynamics.closed_form': 'ClosedForm closed_form',
    'dynamics.equations_of_motion': 'EquationsOfMotion christoffel_symbols equations_of_motion',
    'dynamics.follow_path': 'follow_path',
    'dynamics.forward_dynamics':
        'ForwardDynamics ForwardDynamicsDerivatives forward_dynamics '
        'forward_dynamics_derivatives',
    'dynamics.forward_kinematics': 'forward_kinematics jacobian',
    'dynamics.hybrid_dynamics': 'hybrid_dynamics',
    'dynamics.integration': 'simulate simulate_by_euler',
    'dynamics.inverse_dynamics': 'InverseDynamics inverse_dynamics',
    'dynamics.inverse_dynamics_derivatives':
        'InverseDynamicsDerivatives inverse_dynamics_derivatives',
    'dynamics.inverse_kinematics': 'inverse_kinematics',
    'dynamics.joint_wrenches': 'joint_wrenches',
    'dynamics.momentum': 'Energy center_of_mass energy momentum',
    'dynamics.pose_motion': 'pose_derivatives pose_twist',
    'dynamics.pose_solver': 'solve_pose',
    'dynamics.propellers': 'propeller_map tilted_hexagon',
    'dynamics.regressor': 'inertial_parameters momentum_regressor torque_regressor',
    'dynamics.spherical_joints': 'SphericalJoint',
    'dynamics.task_space': 'TaskSpaceDynamics link_wrench task_space_dynamics',
    'dynamics.wrenches': 'body_wrench external_efforts gravity_wrenches world_wrench',
    'feedforward': 'FeedForward MotorSide',
    'feedforward.flatness_feedback': 'FlatnessFeedback',
    'plans': 'JointWaypoints PlanRequest PlanSettings PreparedPlan prepare_plan',
    'plans.retiming': 'Retimed retime',
    'reference': 'Plan PosePlan fit_plan fit_pose_plan',
    'robot': 'Body HodynError Limits Robot',
    'robot.files': 'load_robot robot_names save_robot with_actuators',
    'robot.files.joint_geometry': 'dh modified_dh product_of_exponentials',
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [
    'Body', 'ClosedForm', 'Energy', 'EquationsOfMotion', 'FeedForward', 'FlatnessFeedback',
    'ForwardDynamics', 'ForwardDynamicsDerivatives', 'GeneratedCode', 'HodynError',
    'InverseDynamics', 'InverseDynamicsDerivatives', 'JointWaypoints', 'Limits', 'MotorSide',
    'Plan', 'PlanRequest', 'PlanSettings', 'PosePlan', 'PreparedPlan', 'Retimed', 'Robot',
    'SphericalJoint', 'SymbolicTorques', 'TaskSpaceDynamics', 'body_wrench', 'center_of_mass',
    'christoffel_symbols', 'closed_form', 'dh', 'energy', 'equations_of_motion',
    'external_efforts', 'fit_plan', 'fit_pose_plan', 'follow_path', 'forward_dynamics',
    'forward_dynamics_derivatives', 'forward_kinematics', 'generate_c',
    'generate_ros2_control', 'gravity_wrenches', 'hybrid_dynamics', 'inertial_parameters',
    'inverse_dynamics', 'inverse_dynamics_derivatives', 'inverse_kinematics', 'jacobian',
    'joint_wrenches', 'link_wrench', 'load_robot', 'modified_dh', 'momentum',
    'momentum_regressor', 'pose_derivatives', 'pose_twist', 'prepare_plan',
    'product_of_exponentials', 'propeller_map', 'retime', 'robot_names', 'save_robot', 'simulate',
    'simulate_by_euler', 'solve_pose', 'symbolic_torques', 'task_space_dynamics',
    'tilted_hexagon', 'torque_regressor', 'with_actuators', 'world_wrench',
]


def __getattr__(name: str) -> Any:
    if name == '__version__':  # reading it from the package's metadata takes time
        from hodyn_ros.common.version import VERSION
        return VERSION
    if name not in _PLACE_OF:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = globals()[name] = getattr(import_module(f'{__name__}.{_PLACE_OF[name]}'), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
