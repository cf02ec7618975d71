"""Quality of service of topics, as the user's `qos_overrides.…` set it."""
from rclpy.node import Node
from rclpy.qos_overriding_options import QoSOverridingOptions

from hodyn_ros.robot import HodynError
from hodyn_ros.ros import parameter_file
from hodyn_ros.ros.parameters import given


def qos_of_user(node: Node) -> 'QoSOverridingOptions | None':
    """Return options that apply the user's `qos_overrides.…` to a topic; None if there are none.

    Overrides are declared only if given: declared ones are read-only, so a dump of the parameters
    could not be loaded.
    """
    if not any(name.startswith(parameter_file.OF_EVERY_TOPIC) for name in given(node)):
        return None
    return QoSOverridingOptions.with_default_policies()


def check_qos_overrides(node: Node) -> None:
    """Raise HodynError for a `qos_overrides.…` that applies to no topic or policy."""
    for name in given(node):
        if name.startswith(parameter_file.OF_EVERY_TOPIC) and not node.has_parameter(name):
            raise HodynError(
                f'{name}: no such topic, or not one of the policies history, depth and '
                'reliability; write qos_overrides./TOPIC.subscription.POLICY (or publisher) with '
                'the full name of the topic')
