"""Check a generated controller in a real controller manager: plan, stop, deactivation, torque.

Start the manager beside it, as the launch file of the package does, on mock hardware; then run
``python tools/ros2_control_chain.py``, with ``--mujoco`` beside mujoco_ros2_control. The exit code
is 0 if all of it holds. Needs rclpy, control_msgs and controller_manager_msgs; nothing of
hodyn_ros.
"""
import argparse
import sys
import time

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ListControllers, SwitchController
import rclpy
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

CONTROLLER = 'feedforward_controller'
SUCCEEDED, CANCELED = 4, 5
STEP = 0.2
"""rad, of each joint in a plan."""
NEAR = 0.02
"""rad, how far from the end of a plan an arm may be that moves."""


class Chain:
    """What talks to the manager and to the controller."""

    def __init__(self):
        rclpy.init()
        self.node = rclpy.create_node('chain')
        self.states = []
        self.node.create_subscription(JointState, '/joint_states', self.states.append, 10)
        self.action = ActionClient(
            self.node, FollowJointTrajectory, f'/{CONTROLLER}/follow_joint_trajectory')

    def wait(self, future, seconds=20.0):
        """Return the result of a future."""
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=seconds)
        return future.result()

    def spin(self, seconds):
        """Take messages for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.01)

    def call(self, kind, service, **fields):
        """Return the answer of a service of the manager."""
        client = self.node.create_client(kind, f'/controller_manager/{service}')
        if not client.wait_for_service(timeout_sec=60.0):
            raise SystemExit(f'no /controller_manager/{service}')
        request = kind.Request()
        for name, value in fields.items():
            setattr(request, name, value)
        return self.wait(client.call_async(request))

    def is_active(self):
        """Whether the controller is active."""
        return any(
            one.name == CONTROLLER and one.state == 'active'
            for one in self.call(ListControllers, 'list_controllers').controller)

    def plan(self, positions, step):
        """Return a plan of 2 s from positions by name."""
        return JointTrajectory(joint_names=list(positions), points=[
            JointTrajectoryPoint(
                positions=[value + share * step for value in positions.values()],
                time_from_start=Duration(sec=second))
            for second, share in enumerate((0.0, 0.5, 1.0))])

    def follow(self, plan, *, cancel_after=None):
        """Return the status of a goal."""
        goal = self.wait(self.action.send_goal_async(
            FollowJointTrajectory.Goal(trajectory=plan)))
        if not goal.accepted:
            return None
        if cancel_after is not None:
            self.spin(cancel_after)
            self.wait(goal.cancel_goal_async())
        return self.wait(goal.get_result_async()).status

    def positions(self):
        """Return the latest positions by name."""
        return dict(zip(self.states[-1].name, self.states[-1].position, strict=True))

    def largest_effort(self):
        """Return the largest effort of the states so far, N m."""
        return max((abs(value) for state in self.states for value in state.effort), default=0.0)


def main():
    """Run the chain."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--mujoco', action='store_true', help='the arm moves, in MuJoCo')
    mujoco = parser.parse_args().mujoco
    chain = Chain()
    end = time.monotonic() + 60.0
    while not chain.is_active() and time.monotonic() < end:
        chain.spin(0.5)
    faults = []

    def expect(what, holds):
        print(f'{"ok" if holds else "WRONG"}: {what}')
        if not holds:
            faults.append(what)

    expect('the controller is active', chain.is_active())
    chain.action.wait_for_server(timeout_sec=20.0)
    chain.spin(1.0)
    expect('joint states come', bool(chain.states))
    held = chain.positions()
    chain.states.clear()
    expect('a plan succeeds', chain.follow(chain.plan(held, STEP)) == SUCCEEDED)
    expect('it takes torque', chain.largest_effort() > 0.1)
    there = {name: value + STEP for name, value in held.items()}
    if mujoco:
        chain.spin(0.5)
        off = max(abs(value - there[name]) for name, value in chain.positions().items())
        expect(f'the arm is where it ends, by {off:.4f} rad', off < NEAR)
    canceled = chain.follow(chain.plan(there, -STEP), cancel_after=0.7)
    expect('a canceled goal is canceled, and the arm is at rest', canceled == CANCELED)
    elsewhere = {name: value + 1.0 for name, value in held.items()}
    expect('a plan from elsewhere is aborted',
           chain.follow(chain.plan(elsewhere, STEP)) not in (SUCCEEDED, CANCELED))
    switched = chain.call(
        SwitchController, 'switch_controller', deactivate_controllers=[CONTROLLER], strictness=2,
        timeout=Duration(sec=5))
    expect('it is deactivated', switched.ok)
    if mujoco:  # mujoco_ros2_control keeps the last command of a controller that was deactivated
        return 1 if faults else 0
    chain.spin(0.5)
    chain.states.clear()
    chain.spin(0.5)
    expect('no torque stays', bool(chain.states) and chain.largest_effort() == 0.0)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
