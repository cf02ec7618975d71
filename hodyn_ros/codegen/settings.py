"""Settings of the generated code, and their checks."""
from __future__ import annotations

from dataclasses import dataclass
from math import isinf
import re
import unicodedata

from hodyn_ros.actuators.laws import CubicSpring, LinearSpring, Rigid
from hodyn_ros.codegen.routines import check_laws, is_damped
from hodyn_ros.codegen.taken_names import TAKEN
from hodyn_ros.feedforward.torque import ORDER
from hodyn_ros.robot import HodynError, Robot

MAX_ORDER = 4
MAX_PREFIX = 40
# Slope of friction, s/rad, above which Q̈ has too few digits in float: the round-off of Q̈ grows
# with the square of the slope.
STEEP = 100.0
_IDENTIFIER = re.compile(rf'[A-Za-z][A-Za-z0-9_]{{0,{MAX_PREFIX - 1}}}')


@dataclass(frozen=True)
class Settings:
    """Settings of the generated code; impossible ones raise HodynError."""

    robot: Robot  #: An arm or tree
    #: Prefix of all names in C; default is the robot's name in ASCII, preceded by `robot_` if
    #: needed
    prefix: str = ''
    order: int = ORDER  #: Order of the highest derivative of Q, 0 to 4
    #: `friction`, `actuators`: Whether there are functions for the joints' friction and motors
    friction: bool = False
    actuators: bool = False
    single: bool = False  #: Whether numbers are ``float`` instead of ``double``
    #: Whether gravity is an argument instead of the robot's constant
    gravity_argument: bool = False
    payload_link: str | None = None  #: Link whose payload is an argument

    def __post_init__(self) -> None:
        robot = self.robot
        if not self.prefix:
            object.__setattr__(self, 'prefix', _default_prefix(robot.name))
        if not _IDENTIFIER.fullmatch(self.prefix):
            raise HodynError(
                f'prefix {self.prefix!r}: expected a name of C, a letter and then letters, digits '
                f'and _, {MAX_PREFIX} characters at most')
        if self.prefix.lower() in TAKEN:
            raise HodynError(
                f'prefix {self.prefix!r}: a header or library of C or a target of CMake has this '
                f"name; give another one, for example 'robot_{self.prefix}'")
        if type(self.order) is not int or not 0 <= self.order <= MAX_ORDER:
            raise HodynError(f'order {self.order!r}: expected 0 to {MAX_ORDER}')
        if robot.n == 0:
            raise HodynError(
                f'robot {robot.name!r} has no joint, and C has no arrays of length 0; for the '
                'wrench on its base use hd.inverse_dynamics')
        if self.payload_link is not None:
            robot.body_index(self.payload_link)
        if self.friction and robot.friction is None:
            raise HodynError(
                f'robot {robot.name!r} has no friction; give its file a friction section: hodyn '
                'identify finds it from recordings')
        if self.friction and self.order > ORDER:
            raise HodynError(
                f'friction is known to order {ORDER}; order {self.order} was requested')
        if self.actuators:
            check_laws(robot, single=self.single)
            if self.order < ORDER:
                raise HodynError(
                    f'the motors of elastic joints need Q, Q̇ and Q̈: order {ORDER} or more; '
                    f'order {self.order} was requested')

    @property
    def has_rotors(self) -> bool:
        """Whether the feed-forward contains rotors reflected to the joints."""
        return self.robot.rotor_inertia is not None and self.order <= ORDER

    @property
    def has_stiffness(self) -> bool:
        """Whether the motor functions have joints with variable stiffness."""
        return self.actuators and bool(self.robot.require_actuators().variable.any())

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parts of the robot that the code lacks."""
        robot = self.robot
        return tuple(text for text, there in (
            ('friction', robot.friction is not None and not self.friction),
            ('rotor inertia', robot.rotor_inertia is not None and not self.has_rotors),
            ('actuators', robot.actuators is not None and not self.actuators)) if there)

    @property
    def steep_in_float(self) -> tuple[str, ...]:
        """Joints whose friction is too steep for accurate second derivatives in float."""
        friction = self.robot.friction
        if friction is None or not (self.friction and self.single and self.order == ORDER):
            return ()
        return tuple(
            name for name, slope, amplitude in zip(
                self.robot.joint_names, friction.slope, friction.amplitude, strict=True)
            if slope > STEEP and amplitude)

    @property
    def has_dampers(self) -> bool:
        """Whether the motor functions have dampers, which depend on earlier instants."""
        return self.actuators and any(
            is_damped(joint.law) for joint in self.robot.require_actuators().joints)

    @property
    def has_start(self) -> bool:
        """Whether a damper or a bound of torque requires a function for the first instant."""
        return self.has_dampers or (self.actuators and not all(
            isinstance(joint.law, (Rigid, LinearSpring))
            or (isinstance(joint.law, CubicSpring) and isinf(joint.law.greatest_torque))
            for joint in self.robot.require_actuators().joints))


def _default_prefix(name: str) -> str:
    """Return a robot's name as a name in C, without accents and repeated underscores."""
    plain = unicodedata.normalize('NFKD', name).encode('ascii', 'ignore').decode()
    prefix = re.sub('[^A-Za-z0-9]+', '_', plain).strip('_')[:MAX_PREFIX].rstrip('_')
    usable = _IDENTIFIER.fullmatch(prefix) and prefix.lower() not in TAKEN
    return prefix if usable else f'robot_{prefix}'[:MAX_PREFIX].rstrip('_')
