"""Finds locked joints whose measured or planned position differs from the model's."""
from collections.abc import Mapping, Sequence

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.coupling import COUPLED, Mimic
from hodyn_ros.robot.model import Robot

APART = 0.01
"""Distance from the locked position, rad or m, beyond which a joint is reported."""
FAR = 0.05
"""Distance from the locked position, rad or m, beyond which the model does not fit the arm. A turn
by 0.05 rad changes the torque of a link's weight by at most 5 % of its largest value. A slide of
0.05 m is the stroke of most fingers, whose weight hardly counts."""


def index_of(joint: str, names: Sequence[str], prefix: str | None) -> int | None:
    """Return the index of a joint of the robot's file in a driver's names; None if not found.

    The driver's name may have the arm's prefix. If the prefix is unknown (None), any prefix that
    ends with an underscore is accepted, provided that only one name fits.
    """
    wanted = (joint, (prefix or '') + joint)
    found = [i for i, name in enumerate(names) if name in wanted]
    if not found and prefix is None:
        found = [i for i, name in enumerate(names) if name.endswith(f'_{joint}')]
    return found[0] if len(found) == 1 else None


def locks_that_matter(robot: Robot) -> dict[str, float]:
    """Return the positions, rad or m, of the locked joints on whose position torques depend."""
    return {
        joint: at for joint, at in robot.locked if joint not in robot.harmless_locks}


def watched_locks(robot: Robot) -> dict[str, float]:
    """Return where joints are locked, rad or m, whose position or acceleration changes torques."""
    return locks_that_matter(robot) | {
        joint: at for joint, at in robot.locked if joint in robot.shifting_locks}


def locked_indices(robot: Robot, names: Sequence[str], prefix: str) -> dict[str, int]:
    """Return the index in a driver's names of each of `watched_locks` that is among them."""
    found = {joint: index_of(joint, names, prefix) for joint in watched_locks(robot)}
    return {joint: index for joint, index in found.items() if index is not None}


def locked_position(robot: Robot, name: str, prefix: str) -> float | None:
    """Return where a joint, named with or without the prefix, is locked; None if it is not."""
    return next((position for joint, position in robot.locked
                 if name in (joint, prefix + joint)), None)


def no_torque_depends_on(robot: Robot, name: str, prefix: str, *, moves: bool) -> bool:
    """Return whether a locked joint's position (and motion, if it moves) changes no torque."""
    joints = robot.harmless_locks - (robot.shifting_locks if moves else frozenset())
    return any(name in (joint, prefix + joint) for joint in joints)


def dependence(robot: Robot, name: str, prefix: str) -> str:
    """Return why a joint, named with or without the prefix, does not move by itself, or ''.

    The reason is a clause such as ``is locked at 0.02`` or ``follows left_finger1``.
    """
    if (position := locked_position(robot, name, prefix)) is not None:
        return f'is locked at {position:g}'
    mimic = mimic_of(robot, name, prefix)
    return '' if mimic is None else f'follows {prefix}{mimic.joint}'


def mimic_of(robot: Robot, name: str, prefix: str) -> Mimic | None:
    """Return the mimic of a joint, named with or without the prefix; None if it has none."""
    return next((body.mimic for body in robot.bodies
                 if body.mimic is not None and name in (body.joint, prefix + body.joint)), None)


def way_out(what: str) -> str:
    """Return what to do about a locked joint in a plan or stream."""
    return f'leave it out of the {what}, or do not lock it'


def why_not_commanded(robot: Robot, names: Sequence[str], prefix: str, what: str) -> str:
    """Return why joints that are not the robot's cannot be in a plan or stream, and what to do."""
    found = {name: dependence(robot, name, prefix) for name in names}
    strange = [name for name in names if not found[name]]
    if strange:
        return (
            f'joint {", ".join(map(repr, strange))} is not one of robot {robot.name!r}; '
            f'a {what} may name only its joints')
    return '; '.join(f'{name} {why}' for name, why in found.items()) + ': ' + (
        way_out(what) if any(locked_position(robot, name, prefix) is not None for name in names)
        else f'leave it out of the {what}')


def check_followers(
    robot: Robot, position: Array, others: Mapping[str, float], prefix: str,
) -> None:
    """Raise HodynError for streamed positions of joints besides the robot's, unless they follow.

    `position`, (n,), has the robot's joints, `others` the positions of the rest by name, rad or m.
    Sliders also name joints that follow others: these must be where the others lead them.
    """
    leaders = dict(zip(robot.joint_names, position.tolist(), strict=True))
    strange = []
    for name, at in others.items():
        mimic = mimic_of(robot, name, prefix)
        if mimic is None:
            strange.append(name)
        elif not abs(at - (due := mimic.position(leaders[mimic.joint]))) <= COUPLED:
            raise HodynError(
                f'{name} is at {at:g}, but it follows {prefix}{mimic.joint} and is at {due:g}: '
                'correct it, or leave it out of the stream')
    if strange:
        raise HodynError(why_not_commanded(robot, strange, prefix, 'stream'))


def elsewhere(joint: str, locked: float, low: float, high: float) -> str:
    """Return a clause about a joint that is from `low` to `high`, not at `locked`, rad or m."""
    where = f'stands at {0.5 * (low + high):.3g}' if high - low <= APART else (
        f'moves from {low:.3g} to {high:.3g}')
    return f'{joint} is locked at {locked:g}, but {where}'
