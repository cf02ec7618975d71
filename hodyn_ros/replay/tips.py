"""The ends of a robot's arms, and the arms of a tree that may be mistaken for each other."""
from itertools import combinations

from hodyn_ros.replay.reading import Order
from hodyn_ros.robot import Robot
from hodyn_ros.robot.model import Body


def tips(robot: Robot) -> list[Body]:
    """Return the bodies without children; of several on the same body, such as fingers, the last.

    Bodies at the base are ends of their own.
    """
    parents = {body.parent for body in robot.bodies}
    ends = {
        body.parent if body.parent >= 0 else body.name: body
        for i, body in enumerate(robot.bodies) if i not in parents}
    return list(ends.values())


def swapped_arms(robot: Robot) -> list[Order]:
    """Return the order of joints after a swap, for each two arms with the same joint types.

    Of arms of different length, the joints from the base on are swapped.
    """
    orders, bodies = [], robot.joint_bodies
    for pair in combinations([_chain(robot, tip) for tip in tips(robot)], 2):
        pairs = list(zip(*(
            [joint for joint in reversed(arm) if joint not in pair[1 - k]]
            for k, arm in enumerate(pair)), strict=False))
        if pairs and all(bodies[i].type == bodies[j].type for i, j in pairs):
            order = list(range(robot.n))
            for i, j in pairs:
                order[i], order[j] = j, i
            orders.append(tuple(order))
    return orders


def _chain(robot: Robot, tip: Body) -> list[int]:
    """Return the joints that move a tip, from the tip to the base."""
    own = [robot.joint_names.index(tip.joint)] if tip.joint in robot.joint_names else []
    return own + (_chain(robot, robot.bodies[tip.parent]) if tip.parent >= 0 else [])
