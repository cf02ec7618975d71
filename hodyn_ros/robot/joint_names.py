"""Maps joints of drivers, bags and plans onto a robot's joints by name, never by order."""
from collections import Counter
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Indices
from hodyn_ros.common.errors import (
    HodynError,
    MissingJointsError,
    NamesError,
    NoKnownJointError,
    OtherArmError,
)
from hodyn_ros.robot.model import Robot


def driver_names(robot: Robot, names: Sequence[str]) -> list[str]:
    """Return names with the first of the robot's `joint_prefixes` before each, if it has any."""
    prefix = robot.joint_prefixes[0] if robot.joint_prefixes else ''
    return [prefix + name for name in names]


class JointNames:
    """Finds a robot's joints in lists of names such as ``fer_joint1``.

    A driver puts one prefix before all joint names: nothing, one of the robot's `joint_prefixes`,
    or anything that ends with one of these (``left_fr3_joint1``). Names that belong to another
    robot model (``fr3_joint1`` for a Panda) are refused.

    Parameters
    ----------
    robot : Robot
        The robot whose joints are looked for.
    prefix : str
        If given, accepts only this prefix, alone or before one of `joint_prefixes`: it chooses
        one of several arms.
    allow_other_model : bool
        Accepts any prefix.
    driver_prefix : str or None
        The prefix of this arm's joint states, once known. Then only names with this prefix or none
        are this arm's, whatever `prefix` and `allow_other_model` say.
    joints : sequence of str, optional
        The robot's joints to look for; all by default.

    """

    def __init__(
        self, robot: Robot, *, prefix: str = '', allow_other_model: bool = False,
        driver_prefix: str | None = None, joints: Sequence[str] = (),
    ) -> None:
        self.robot = robot
        self.joints = tuple(joints) or robot.joint_names
        self.prefix = prefix
        self.allow_other_model = allow_other_model
        self.driver_prefix = driver_prefix

    def indices(self, names: Sequence[str]) -> Indices:
        """Return each joint's index in a list of names, in the order of `joints`.

        Raises
        ------
        NoKnownJointError
            When no name is one of the robot's joints; as OtherArmError when all joints are named,
            but with the prefix of another arm or robot model.
        MissingJointsError
            When joints are missing.
        HodynError
            When a joint is named twice, the names fit several arms, or all names have another
            prefix than a given `driver_prefix`.

        """
        joints = self.joints
        present = set(names)
        if len(present) < len(names):
            twice = sorted(name for name, times in Counter(names).items() if times > 1)
            raise HodynError(f'joint {twice[0]!r} is named twice')
        complete = [
            p for p in self._prefixes(names, joints[:1])
            if all(p + j in present for j in joints)]
        known = [p for p in complete if self._is_known(p)]
        exact = [p for p in known if p in self._preferred_prefixes()]
        chosen = exact if len(exact) == 1 else known
        if len(chosen) == 1:
            position = {name: i for i, name in enumerate(names)}
            return np.array([position[chosen[0] + joint] for joint in joints])
        if chosen:
            raise HodynError(
                f'several arms fit robot {self.robot.name!r}: joints with the prefixes '
                f'{", ".join(map(repr, sorted(chosen)))}; choose one by joint_prefix')
        if complete and self.driver_prefix is not None:
            raise HodynError(
                f'{complete[0] + joints[0]!r} and the others are of another arm than '
                f'{self.driver_prefix + joints[0]!r}, which the joint states name; use the '
                f'names in the joint states, or names without a prefix: {joints[0]!r}')
        if complete and self.prefix:
            raise OtherArmError(
                f'the given joint prefix {self.prefix!r} does not fit: no '
                f'{self.prefix + joints[0]!r} among the names, in which the joints of robot '
                f'{self.robot.name!r} have the prefix '
                f'{" or ".join(map(repr, sorted(complete)))}; give '
                f'{"this one" if len(complete) == 1 else "one of these"}')
        if complete:
            own = ', '.join(map(repr, filter(None, self._own_prefixes())))
            given = ' or '.join(sorted(complete))
            raise OtherArmError(
                f'{", ".join(repr(prefix + joints[0]) for prefix in sorted(complete))} and the '
                f'others are not joints of robot {self.robot.name!r}'
                f'{own and f" (prefixes {own})"}; load the robot they belong to or, to use this '
                f'robot for {"them" if len(complete) == 1 else "one of these arms"}, give '
                f'{"their" if len(complete) == 1 else "its"} prefix: joint_prefix:={given} '
                f'(node), --joint-prefix {given} (commands)')
        raise self._missing(names)

    def of_driver(self, joints: Sequence[str], some: Sequence[str] = ()) -> 'JointNames':
        """Return a JointNames for the arm whose joints, (n,), have these names in joint states.

        The result refuses other arms. If `some` of the robot's joints are given, only they count.
        """
        return JointNames(
            self.robot, driver_prefix=joints[0].removesuffix(self.robot.joint_names[0]),
            joints=some)

    def command_order(self, joints: Sequence[str]) -> Indices:
        """Return the indices of the robot's joints in a controller's list of joints.

        An empty list means the robot's own order. Raises HodynError when the controller's joints
        are not the robot's.
        """
        given = [joint for joint in joints if joint]
        if not given:
            return np.arange(self.robot.n)
        try:
            if len(given) != self.robot.n:
                raise HodynError(
                    f'it names {len(given)} joints; {self.robot.name!r} has {self.robot.n}')
            # As in plans, names without a prefix are this arm's.
            is_bare = set(given) == set(self.robot.joint_names)
            return (JointNames(self.robot) if is_bare else self).indices(given)
        except HodynError as error:
            raise HodynError(
                f"command_joints: {error}; give the controller's joints in its order") from None

    def _preferred_prefixes(self) -> list[str]:
        if self.driver_prefix is not None:
            return [self.driver_prefix]
        return [self.prefix, *self._own_prefixes()]

    def _own_prefixes(self) -> list[str]:
        return [self.prefix + p for p in self.robot.joint_prefixes] or [self.prefix]

    def _is_known(self, prefix: str) -> bool:
        if self.driver_prefix is not None:
            return prefix in (self.driver_prefix, '')
        if self.allow_other_model or prefix == self.prefix:
            return True
        if self.prefix:
            return prefix in self._own_prefixes()
        return prefix.endswith(self.robot.joint_prefixes)

    def _prefixes(self, names: Sequence[str], joints: Sequence[str]) -> list[str]:
        return [
            name.removesuffix(joint) for joint in joints for name in names
            if name.endswith(joint)]

    def _missing(self, names: Sequence[str]) -> NamesError:
        joints = self.joints
        present = set(names)
        best: tuple[str, list[str]] = ('', list(joints))
        for prefix in [*self._preferred_prefixes(), *self._prefixes(names, joints)]:
            missing = [joint for joint in joints if prefix + joint not in present]
            if self._is_known(prefix) and len(missing) < len(best[1]):
                best = (prefix, missing)
        prefix, missing = best
        if len(missing) == len(joints):
            expected = self._own_prefixes() if self.driver_prefix is None else [self.driver_prefix]
            return NoKnownJointError(
                f'no joint of robot {self.robot.name!r} '
                f'{self.prefix and f"with the given prefix {self.prefix!r} "}among the names '
                f'{", ".join(map(repr, names[:8])) or "(none)"}'
                f'; expected {", ".join(repr(p + joints[0]) for p in expected)} …')
        others = [name for name in names if name not in {prefix + joint for joint in joints}]
        return MissingJointsError(
            f'{"joint" if len(missing) == 1 else "joints"} '
            f'{", ".join(repr(prefix + joint) for joint in missing)} of robot '
            f'{self.robot.name!r} missing among the names'
            + (f', which have {", ".join(map(repr, others[:8]))} instead' if others else ''),
            '' if self.joints != self.robot.joint_names or self.driver_prefix is not None
            else 'lock joints that do not move (locked_joints)')
