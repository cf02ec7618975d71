"""Finds the locked joints on whose position no torque depends."""
from collections.abc import Mapping, Sequence, Set

import numpy as np

from hodyn_ros.robot.model import Body

# Sine of the angle up to which directions count as parallel: URDFs often have rounded angles.
PARALLEL = 1e-4


def harmless_locks(
    links: Sequence[Body], locked: Set[str], slides: Set[str], leaders: Mapping[str, str],
) -> tuple[frozenset[str], frozenset[str]]:
    """Return `Robot.harmless_locks` and `Robot.shifting_locks`, without those that a file lists.

    `links` have parents first, `slides` are the prismatic joints, and `leaders` has the joint that
    each coupled joint follows.

    The position of a prismatic joint affects no torque if all joints that turn its parent have its
    direction: gravity is the same everywhere, and no lever arm changes. Torques still depend on
    its acceleration if it carries a moving link, or if a moving slide carries it.
    The position of another joint affects no torque if its parent does not move and it carries no
    moving link. A leader affects torques as its followers do.
    """
    carries = [link.type != 'fixed' for link in links]
    for i in range(len(links) - 1, -1, -1):
        if links[i].parent >= 0:
            carries[links[i].parent] |= carries[i]
    harmless, shifting = set(), set()
    # One entry per link, then one for the world: its home orientation, the directions of the
    # joints that turn it, and whether any joint displaces it.
    orientations, turns, slid = [np.eye(3)], [np.empty((0, 3))], [False]
    for i, link in enumerate(links):
        orientation = orientations[link.parent] @ link.placement[:3, :3]
        direction, about = orientation @ link.axis, turns[link.parent]
        if link.joint in locked:
            if link.joint not in slides:
                if not (len(about) or carries[i] or slid[link.parent]):
                    harmless.add(link.joint)
            elif (np.linalg.norm(np.cross(about, direction), axis=1) < PARALLEL).all():
                harmless.add(link.joint)
                if carries[i] or slid[link.parent]:
                    shifting.add(link.joint)
        own = {'floating': np.eye(3), 'revolute': direction[None], 'helical': direction[None]}
        orientations.insert(i, orientation)
        turns.insert(i, np.vstack((about, own.get(link.type, np.empty((0, 3))))))
        slid.insert(i, slid[link.parent] or link.type not in ('fixed', 'revolute'))
    for follower in locked & leaders.keys():
        leader = leaders.get(follower)
        while leader is not None:
            if follower not in harmless:
                harmless.discard(leader)
            elif follower in shifting:
                shifting.add(leader)
            leader = leaders.get(leader)
    return frozenset(harmless), frozenset(shifting & harmless)
