"""A process with the node `feedforward`, and a client of its services."""
from array import array
from collections.abc import Callable
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from processes import KILLED, USED, kill, shared_memory
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from hodyn_ros.ros.given_parameters import read_arguments
from hodyn_ros.ros.parameters import TABLE

# The first start compiles the kernels.
MATCH_TIMEOUT = 180.0
# Tests that send states one by one must not be taken for a driver that fell silent, or for one
# whose arm does not follow.
PATIENT = ('state_timeout:=60.0', 'max_time_step:=0.5', 'tracking_tolerance:=[-1.0]')
# What the names of parameters begin with that count at the start only.
OF_THE_START = ('robot:', 'limits_file:', 'qos_overrides.', 'constraints.')
DEFAULTS = {'use_sim_time': False} | {
    name: list(row.default) if isinstance(row.default, tuple) else row.default
    for name, row in TABLE.items() if 'JOINT' not in name and name != 'auto_activate'}


def arguments(*parameters: str) -> list[str]:
    """Return parameters as words of a command line, after the tests' own."""
    return ['--ros-args', *(word for one in (*PATIENT, *parameters) for word in ('-p', one))]


class NodeProcess:
    """A process with a node, in a domain or that of the environment, and what it has logged."""

    def __init__(
        self, path: Path, *parameters: str, command: list[str] | None = None,
        domain: int | None = None,
    ) -> None:
        self.domain = domain
        self.begin = 0  # of the part of the log that counts
        self._path = path
        self._environment = {} if domain is None else {'ROS_DOMAIN_ID': str(domain)}
        with path.open('w') as stream:
            self.popen = subprocess.Popen(
                command or [
                    sys.executable, '-m', 'hodyn_ros.ros.feedforward_node',
                    *arguments(*parameters)],
                stdout=stream, stderr=subprocess.STDOUT, cwd=path.parent,
                env={**os.environ, **self._environment})

    @property
    def log(self) -> str:
        return self._path.read_bytes()[self.begin:].decode()

    def forget_log(self) -> None:
        """Have the log begin here."""
        self.begin = self._path.stat().st_size


class Client:
    """A client of the services of a node in a process."""

    def __init__(self, of: NodeProcess, name: str = 'client') -> None:
        self.of = of
        self.process = of.popen
        self._closed = self._has_asked = False
        self._context = Context()
        rclpy.init(context=self._context, domain_id=of.domain)
        self.node = Node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    @property
    def log(self) -> str:
        return self.of.log

    def spin_until(self, done: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end or self.process.poll() is not None:
                return done()
            self._executor.spin_once(timeout_sec=0.02)
        return True

    def spin(self, seconds: float) -> None:
        self.spin_until(lambda: False, seconds)

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service of the node and return its response."""
        client = self.node.create_client(kind, f'/feedforward/{service}')
        assert self.spin_until(client.service_is_ready, MATCH_TIMEOUT), self.log
        if not self._has_asked:
            # The node may not know this process yet: its answer would be lost.
            self.spin(0.1)
            self._has_asked = True
        future = client.call_async(request)
        assert self.spin_until(future.done, MATCH_TIMEOUT), self.log
        self.node.destroy_client(client)
        return future.result()

    def change(self, name: str) -> bool:
        """Ask for a change of the node's life cycle; return whether it happened."""
        number = getattr(Transition, f'TRANSITION_{name.upper()}')
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, 'change_state', request).success)

    def state_of_life(self) -> int:
        """Return the state of the node's life cycle."""
        state: int = self.call(GetState, 'get_state', GetState.Request()).current_state.id
        return state

    def set(self, **values: Any) -> str:
        """Set parameters as one batch; return why they were refused, empty if they were not."""
        batch = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        result = self.call(
            SetParametersAtomically, 'set_parameters_atomically',
            SetParametersAtomically.Request(parameters=batch)).result
        return '' if result.successful else result.reason or 'refused'

    def get(self, *names: str) -> list[Any]:
        """Return values of parameters."""
        response = self.call(GetParameters, 'get_parameters', GetParameters.Request(names=names))
        values = [parameter_value_to_python(value) for value in response.values]
        return [value.tolist() if isinstance(value, array) else value for value in values]

    def kill(self) -> None:
        """End the node as a crash would."""
        kill(self.process)

    def end(self, number: int = signal.SIGINT) -> int:
        """End the node by a signal, listening on, and return its exit code."""
        files = shared_memory(self.process.pid)
        if self.process.poll() is None:
            self.process.send_signal(number)
        end = time.monotonic() + 20.0
        while self.process.poll() is None and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)
        if self.process.poll() is None:
            kill(self.process)
        USED.update(files - KILLED)
        for _ in range(100):
            self._executor.spin_once(timeout_sec=0.001)
        return self.process.returncode

    def leave(self) -> None:
        """Go, whether the node goes on or not."""
        if self._closed:
            return
        self._closed = True
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def close(self) -> int:
        """End the node by SIGINT and return its exit code."""
        if self._closed:
            return self.process.returncode
        code = self.end()
        self.leave()
        return code


class SharedNode:
    """A node that serves one test after the other: an activation begins anew.

    It starts in 0.3 s, a process in 3 s. Its domain is its own: there may be a node of the same
    name in the other one.
    """

    def __init__(self, folder: Path, domain: int) -> None:
        self._folder, self._domain = folder, domain
        self._count = 0
        self._client: Client | None = None

    def activate(self, *parameters: str) -> NodeProcess:
        """Activate it with parameters, and the defaults of all others."""
        try:
            return self._activate(*parameters)
        except BaseException:  # the next test gets a new one
            self.close()
            raise

    def _activate(self, *parameters: str) -> NodeProcess:
        if self._client is not None and self._client.process.poll() is not None:
            self.close()
        if self._client is None:
            self._count += 1
            self._client = Client(NodeProcess(
                self._folder / f'shared{self._count}.log', 'auto_activate:=false',
                domain=self._domain))
            assert self._client.change('configure'), self._client.log
        given = read_arguments(['', *arguments(*parameters)], 'feedforward')
        assert self._client.set(**(DEFAULTS | given)) == '', self._client.log
        self._client.of.forget_log()
        assert self._client.change('activate'), self._client.log
        return self._client.of

    def rest(self) -> None:
        """Deactivate it; if it cannot serve another test, it ends."""
        client = self._client
        if client is None:
            return
        if client.process.poll() is None and (
                client.state_of_life() == State.PRIMARY_STATE_INACTIVE
                or client.change('deactivate')):
            return
        self.close()

    def close(self) -> None:
        """End it."""
        if self._client is not None:
            self._client.close()
            self._client = None
