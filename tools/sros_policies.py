"""SROS 2 policies of the nodes, from what they open: `python tools/sros_policies.py`.

Writes config/sros2/. The nodes run in a namespace, which tells relative names from absolute ones.
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from hodyn_ros.ros.controller_state import PARTS

FOLDER = Path(__file__).parents[1] / 'config' / 'sros2'
NAMESPACE = '/probe'
PATIENCE = 120.0
# File, node, module, what it opens late, and what it is started with so that it opens all that it
# ever opens.
NODES = {
    'feedforward': ('feedforward', 'feedforward_node', '~/motor_states', (
        'robot:=robot_description', 'use_sim_time:=true', 'auto_activate:=false')),
    'driver': (
        'simulated_driver', 'simulated_driver', 'feedforward/torque', ('use_sim_time:=true',)),
}
RULES = (
    ('topic', 'subscribe', 'get_subscriber_names_and_types_by_node'),
    ('topic', 'publish', 'get_publisher_names_and_types_by_node'),
    ('service', 'reply', 'get_service_names_and_types_by_node'),
    ('service', 'request', 'get_client_names_and_types_by_node'),
)
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by tools/sros_policies.py: what the node opens, and no more. docs/security.md -->
<policy version="0.2.0">
  <enclaves>
    <enclave path="/hodyn_ros/{file}">
      <profiles>
        <profile ns="/" node="{node}">
"""
# Policies name what an action opens by the action, whether control_msgs is installed here or not.
ACTION = 'follow_joint_trajectory'
ACTIONS = f"""          <actions execute="ALLOW">
            <action>~/{ACTION}</action>
          </actions>
"""
TAIL = """        </profile>
      </profiles>
    </enclave>
  </enclaves>
</policy>
"""


@contextmanager
def observed(file: str) -> Iterator[Callable[[], str]]:
    """Run a node; yield a function that returns the policy for what it has opened so far."""
    node, module, _, parameters = NODES[file]
    given = [word for parameter in parameters for word in ('-p', parameter)]
    process = subprocess.Popen(
        [sys.executable, '-m', f'hodyn_ros.ros.{module}', '--ros-args', '-r',
         f'__ns:={NAMESPACE}', '--log-level', 'error', *given])
    context = Context()
    rclpy.init(context=context)
    observer = Node('observer', context=context)
    try:
        if file == 'feedforward':
            _configure(observer, f'{NAMESPACE}/{node}', context)
        yield lambda: _policy(observer, file, node)
    finally:
        observer.destroy_node()
        rclpy.try_shutdown(context=context)
        process.terminate()
        process.wait(PATIENCE)


def _configure(observer: Node, node: str, context: Context) -> None:
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(observer)
    for kind, service, request in (
            (SetParameters, 'set_parameters', SetParameters.Request(
                parameters=[Parameter('robot', value='twolink').to_parameter_msg()])),
            (ChangeState, 'change_state', ChangeState.Request(
                transition=Transition(id=Transition.TRANSITION_CONFIGURE)))):
        client = observer.create_client(kind, f'{node}/{service}')
        assert client.wait_for_service(PATIENCE), service
        future = client.call_async(request)
        executor.spin_until_future_complete(future, PATIENCE)
        assert future.done(), service
    executor.remove_node(observer)
    assert future.result().success


def _policy(observer: Node, file: str, node: str) -> str:
    lines = [HEAD.format(file=file, node=node)]
    for what, rule, method in RULES:
        names = sorted(_relative(name, node) for name in _names(observer, method, node))
        if names:
            lines.append(f'          <{what}s {rule}="ALLOW">\n')
            lines += [f'            <{what}>{name}</{what}>\n' for name in names]
            lines.append(f'          </{what}s>\n')
    if file == 'feedforward':
        lines.append(ACTIONS)
    return ''.join([*lines, TAIL])


def _names(observer: Node, method: str, node: str) -> list[str]:
    try:
        found: list[tuple[str, Any]] = getattr(observer, method)(node, NAMESPACE)
    except rclpy.node.NodeNameNonExistentError:
        return []
    names = [name for name, _ in found if f'/{ACTION}/_action/' not in name]
    if (node, method) == ('feedforward', 'get_subscriber_names_and_types_by_node'):
        # What another node of its name does, where there seems to be one.
        names.append(f'{NAMESPACE}/{node}/state')
    # Either topic of the controller's state, as control_msgs is installed or not.
    state = f'{NAMESPACE}/{node}/controller_state'
    if any(name.startswith(state) for name in names):
        names = [name for name in names if not name.startswith(state)]
        names += [state, *(f'{state}/{part}' for part in PARTS)]
    return names


def _relative(name: str, node: str) -> str:
    for prefix, short in ((f'{NAMESPACE}/{node}/', '~/'), (f'{NAMESPACE}/', '')):
        if name.startswith(prefix):
            return short + name.removeprefix(prefix)
    return name


def settled(file: str, policy: Callable[[], str]) -> str:
    """Return a policy that has not changed for some seconds: discovery takes its time."""
    late = NODES[file][2]
    end = time.monotonic() + PATIENCE
    last, since = policy(), time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < 4.0:
        time.sleep(0.1)
        if (now := policy()) != last or f'>{late}<' not in now:
            last, since = now, time.monotonic()
    return last


if __name__ == '__main__':
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    for one in NODES:
        with observed(one) as opened:
            (FOLDER / f'{one}.policy.xml').write_text(settled(one, opened), encoding='utf-8')
