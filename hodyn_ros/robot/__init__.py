"""The robot: the model that the kernels read, its joints' names, its files."""
from hodyn_ros.common.errors import HodynError, NamesError, NoKnownJointError, OtherArmError
from hodyn_ros.robot.coupling import Coupling, Mimic
from hodyn_ros.robot.joint_limits import Limits
from hodyn_ros.robot.model import Body, KernelModel, Robot

__all__ = [
    'Body', 'Coupling', 'HodynError', 'KernelModel', 'Limits', 'Mimic', 'NamesError',
    'NoKnownJointError', 'OtherArmError', 'Robot',
]
