"""The robot model: immutable, checked once, with its constants packed for the kernels."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.actuators.joint_actuators import Actuators
from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie, spherical
from hodyn_ros.robot.body_table import COLUMNS
from hodyn_ros.robot.coupling import Coupling, Mimic
from hodyn_ros.robot.joint_limits import Limits
from hodyn_ros.robot.mounting import mounted
from hodyn_ros.robot.reflexes import Reflexes
from hodyn_ros.robot.unit_doubts import ask_of_gravity, ask_of_payload

JointType = Literal['revolute', 'prismatic', 'helical', 'fixed', 'floating']

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
"""Gravity vector for a robot whose file gives none, m/s²."""


@dataclass(frozen=True, eq=False)
class Body:
    """One moving body and the joint that carries it.

    The body's frame is at C = C_parent · placement · Exp(screw q), with the joint's screw
    (axis, point × axis + pitch axis) in body axes (prismatic: (0, axis)).

    Attributes
    ----------
    name, joint : str
        Names of the body and of its joint.
    parent : int
        Index of the parent body, −1 for the world.
    type : str
        revolute, prismatic, helical or floating (a free base); fixed only while a file is read.
    placement : (4, 4) array
        Home pose in the parent's frame.
    axis, point : (3,) arrays
        Unit direction and a point (m) of the joint axis, in body axes.
    pitch : float
        m/rad.
    mass : float
        kg.
    com : (3,) array
        m, in the body's frame.
    inertia : (3, 3) array
        kg m², about the centre of mass, body axes.
    mimic : Mimic or None
        How the joint follows another one; None if it moves by itself.

    """

    name: str
    joint: str
    parent: int
    type: JointType
    placement: Array
    axis: Array
    point: Array
    pitch: float
    mass: float
    com: Array
    inertia: Array
    mimic: Mimic | None = None

    @property
    def screw(self) -> Array:
        """The joint's screw (6,) in the body's axes about its origin."""
        if self.type == 'prismatic':
            return np.concatenate([np.zeros(3), self.axis])
        return np.concatenate(
            [self.axis, np.cross(self.point, self.axis) + self.pitch * self.axis])

    def with_load(self, mass: float, com: Array, inertia: Array, placement: Array) -> Body:
        """Return the body with another body fixed to it, at a pose (4, 4) in its frame."""
        total, middle, tensor = inertias.combine(
            self.mass, self.com, self.inertia, mass, com, inertia, placement)
        return replace(self, mass=total, com=middle, inertia=tensor)


@dataclass(frozen=True, eq=False)
class KernelModel:
    """The constants that the kernels read, body by body, in frames whose z axis is the joint's.

    A kernel frame K and its body frame B differ by the constant pose `body_in_kernel`. In kernel
    frames every joint turns by ρ q about z and moves by h q along z, so the kernels need no
    branches: (ρ, h) is (1, 0) if revolute, (1, pitch) if helical, and (0, 1) if prismatic.
    """

    parent: NDArray[np.int64]  #: (n_bodies,): −1 for the world
    #: (n_bodies, 30): one row per body, with the columns that `body_table` names: pose of K in the
    #: parent's K at q = 0; ρ, h; mass; centre of mass in K; inertia about the centre of mass and
    #: K's origin
    body_table: Array
    body_in_kernel: Array  #: (n_bodies, 4, 4): poses of B in K


@dataclass(frozen=True, eq=False)
class Robot:
    """A serial arm or a tree of bodies, on a fixed or a floating base; immutable.

    Attributes
    ----------
    name : str
        Name that messages and reports use.
    gravity : (3,) array
        Acceleration vector in world axes, m/s².
    bodies : tuple of Body
        The moving bodies, parents before children; fixed links are merged into their parents.
    joint_prefixes : tuple of str
        Prefixes that drivers put before the joint names.
    limits : Limits
        Joint limits.
    friction : SigmoidFriction or None
        Joint friction; part of the feed-forward, not of the inverse dynamics.
    rotor_inertia : (n,) array or None
        Inertia of the motors' rotors reflected to joints without springs, kg m²; part of the
        feed-forward, not of the inverse dynamics.
    effort_gain : (n,) array or None
        N m per unit of the efforts that the driver reports, which may be currents.
    actuators : Actuators or None
        Joint actuators, None if the motors are not modelled; part of the feed-forward.
    reflexes : Reflexes or None
        Reflexes of the vendor's controller, if the file has them.
    frames : mapping of str to (int, (4, 4) array)
        Merged links by name: index of the body that carries the link (−1 world) and its pose in
        that body.
    base_pose : (4, 4) array
        Pose of the base in the world; the placements of bodies on the base contain it.
    in_base : tuple of (str, (4, 4) array)
        Links on the base and their poses in the base, if `base_pose` was given.
    locked : tuple of (str, float)
        Positions, rad or m, of the joints that were locked when the robot was loaded, and of
        those that follow them.
    harmless_locks : frozenset of str
        Joints in `locked` on whose position no torque depends, such as wheels and the joints of
        another arm.
    shifting_locks : frozenset of str
        Joints in `harmless_locks` whose acceleration changes torques, though their position does
        not: slides that carry the arm or are on a moving slide, and the joints that they follow.
    kernel_model : KernelModel
        The bodies as the kernels read them.
    coupling : Coupling
        Maps the joints to the bodies, as some joints may follow others. Arrays with one entry per
        joint have no entries for followers.

    """

    name: str
    gravity: Array
    bodies: tuple[Body, ...]
    joint_prefixes: tuple[str, ...]
    limits: Limits
    friction: SigmoidFriction | None = None
    rotor_inertia: Array | None = None
    effort_gain: Array | None = None
    actuators: Actuators | None = None
    reflexes: Reflexes | None = None
    frames: Mapping[str, tuple[int, Array]] = field(default_factory=dict)
    base_pose: Array = field(default_factory=lambda: np.eye(4))
    in_base: tuple[tuple[str, Array], ...] = ()
    locked: tuple[tuple[str, float], ...] = ()
    harmless_locks: frozenset[str] = frozenset()
    shifting_locks: frozenset[str] = frozenset()
    kernel_model: KernelModel = field(init=False)
    coupling: Coupling = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'frames', MappingProxyType(dict(self.frames)))
        object.__setattr__(self, 'kernel_model', _pack(self.bodies))
        joints = self.bodies[self.floating:]
        object.__setattr__(self, 'coupling', Coupling.of(
            [body.joint for body in joints], [body.mimic for body in joints]))
        if self.actuators is not None and self.actuators.names != self.joint_names:
            raise HodynError(
                f'robot {self.name!r}: the actuators are for joints '
                f'{", ".join(self.actuators.names)}; its joints are {", ".join(self.joint_names)}')
        for array in _arrays(self):
            array.flags.writeable = False

    def __repr__(self) -> str:
        """Return one line: the arrays of all bodies would fill pages."""
        base = 'floating' if self.floating else 'fixed'
        joints = ', '.join(self.joint_names)
        mass = sum(body.mass for body in self.bodies)
        return f'<Robot {self.name!r}: {base} base, {mass:.4g} kg, {self.n} joints: {joints}>'

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle through the constructor: the copy is packed, checked and read-only as well.
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return Robot, tuple({**values, 'frames': dict(self.frames)}.values())

    @property
    def floating(self) -> bool:
        """Whether the first body is a free base."""
        return self.bodies[0].type == 'floating'

    @property
    def joint_bodies(self) -> tuple[Body, ...]:
        """The body that each joint carries; a floating base and coupled bodies are left out."""
        return tuple(body for body in self.bodies[self.floating:] if body.mimic is None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of every joint vector.

        A floating base and joints that follow others are left out.
        """
        return tuple(body.joint for body in self.joint_bodies)

    @property
    def turns(self) -> NDArray[np.bool_]:
        """Whether each joint turns, (n,): its position is in rad; that of a slide is in m."""
        return np.array([body.type != 'prismatic' for body in self.joint_bodies], dtype=np.bool_)

    @property
    def n(self) -> int:
        """Number of joints, without a floating base and joints that follow others."""
        return len(self.coupling.carried)

    @property
    def tracking_tolerance(self) -> Array:
        """Largest distance of joints from their reference, (n,), by default 0.2 rad or 0.05 m."""
        known = self.limits.tracking_error
        return np.where(np.isfinite(known), known, np.where(self.turns, 0.2, 0.05))

    @property
    def serial(self) -> bool:
        """Whether this is a fixed-base chain: each body's parent is the body before it."""
        return not self.floating and all(
            body.parent == i - 1 for i, body in enumerate(self.bodies))

    def require_actuators(self) -> Actuators:
        """Return the actuators; raises HodynError when the motors are not modelled."""
        if self.actuators is None:
            raise HodynError(
                f'robot {self.name!r} has no actuators; give its file an actuators section')
        return self.actuators

    def frame(self, name: str) -> tuple[int, Array]:
        """Return the index of the body that carries a link, and the link's pose (4, 4) in it.

        A link fixed to the world has index −1. Raises HodynError when there is no such link.
        """
        if not isinstance(name, str):
            raise HodynError(f'link: expected the name of a link, got {type(name).__name__}')
        links = [*(body.name for body in self.bodies), *self.frames]
        if name in links:
            i = links.index(name)
            return (i, np.eye(4)) if i < len(self.bodies) else self.frames[name]
        bare = max((link for link in links if name.endswith(link)), key=len, default='')
        raise HodynError(
            f'robot {self.name!r} has no link {name!r}; its links are {", ".join(links)}'
            + (bare and f'; if {bare!r} is meant, leave out the prefix'))

    def body_index(self, name: str) -> int:
        """Return the index of a body, or of the body that carries a merged link.

        Raises HodynError when there is no such link, or when it is fixed to the world.
        """
        index, _ = self.frame(name)
        if index == -1:
            raise HodynError(f'link {name!r} of robot {self.name!r} is fixed to the world')
        return index

    def with_gravity(self, gravity: Sequence[float] | Array) -> Robot:
        """Return the same robot under another gravity vector (3,), m/s², world axes."""
        found = replace(self, gravity=_numbers(gravity, 'gravity', (3,)))
        ask_of_gravity(found, f'robot {self.name!r}')
        return found

    def with_base_pose(self, base_pose: ArrayLike) -> Robot:
        """Return the same robot with its base at this pose (4, 4) in the world.

        Gravity keeps its direction in the world.

        Raises
        ------
        HodynError
            For a floating base, whose pose is part of its motion, and for a matrix that is not a
            pose.

        """
        if self.floating:
            raise HodynError(
                f'robot {self.name!r} has a floating base: its pose is given with the motion')
        pose = _numbers(base_pose, 'base_pose', (4, 4))
        fault = lie.pose_fault(pose)
        if fault:
            raise HodynError(f'base_pose: {fault}')
        return replace(self, **mounted(self, pose))

    def with_rotation(self, joint: str, rotation: ArrayLike) -> Robot:
        """Return the same robot, with the coordinates of a spherical joint 0 at a rotation.

        The rotation, (3, 3), is relative to the body's placement in its file. The limits of the
        joint's coordinates (NAME_x, NAME_y and NAME_z) stay. Raises HodynError when the joint NAME
        is not spherical, and for a matrix that is not a rotation.
        """
        matrix = _numbers(rotation, 'rotation', (3, 3))
        return replace(self, bodies=spherical.recentred(self, joint, matrix))

    def with_payload(
        self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike | None = None,
    ) -> Robot:
        """Return the same robot with a load fixed to one of its links.

        Parameters
        ----------
        link : str
            Name of a body, or of a link that is merged into a body.
        mass : float
            kg, not negative.
        com : (3,) array
            Centre of mass, m, in the link's axes.
        inertia : (3, 3) array, optional
            About the centre of mass, kg m², in the link's axes; a point mass when none is given.

        Raises
        ------
        HodynError
            For a link that does not move, and for a mass or inertia that no load has.

        """
        index = self.body_index(link)
        where = f'payload on {link!r}'
        load_mass = float(_numbers(mass, f'{where}: mass', ()))
        load_com = _numbers(com, f'{where}: com', (3,))
        load_inertia = _numbers(
            np.zeros((3, 3)) if inertia is None else inertia, f'{where}: inertia', (3, 3))
        if load_mass < 0.0:
            raise HodynError(f'{where}: mass is {load_mass:g} kg, below 0')
        fault = (
            inertias.asymmetry(load_inertia)
            or inertias.physical_fault(load_mass, load_inertia))
        if fault:
            raise HodynError(f'{where}: inertia: {fault}')
        ask_of_payload(self, load_mass, load_com, load_inertia, where)
        body = self.bodies[index].with_load(
            load_mass, load_com, load_inertia, self.frame(link)[1])
        return replace(self, bodies=(*self.bodies[:index], body, *self.bodies[index + 1:]))


def _numbers(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    """Return a copy as finite floats of this shape."""
    try:
        array: Array | None = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.shape != shape or not np.all(np.isfinite(array)):
        raise HodynError(f'{name}: expected finite numbers of shape {shape}, got {values!r}')
    return array


def _arrays(robot: Robot) -> list[Array]:
    owners: list[Any] = [
        robot, *robot.bodies, robot.limits, robot.kernel_model, robot.coupling]
    if robot.friction is not None:
        owners.append(robot.friction)
    if robot.reflexes is not None:
        owners += robot.reflexes.stops
    values = [getattr(owner, f.name) for owner in owners for f in fields(owner)]
    values += [pose for _, pose in (*robot.frames.values(), *robot.in_base)]
    return [value for value in values if isinstance(value, np.ndarray)]


def _pack(bodies: tuple[Body, ...]) -> KernelModel:
    kernel_in_body = [
        lie.pose(lie.rotation_onto(body.axis), body.point) if body.type != 'floating'
        else np.eye(4) for body in bodies
    ]
    body_in_kernel = np.array([lie.inverse(frame) for frame in kernel_in_body])
    body_table = np.empty((len(bodies), COLUMNS))
    for i, body in enumerate(bodies):
        # The pose of a floating base comes from its motion, not from its placement in the file.
        home = kernel_in_body[i] if body.type == 'floating' else body.placement @ kernel_in_body[i]
        if body.parent >= 0:
            home = body_in_kernel[body.parent] @ home
        rotation = body_in_kernel[i][:3, :3]
        com = rotation @ body.com + body_in_kernel[i][:3, 3]
        inertia = rotation @ body.inertia @ rotation.T
        about_origin = inertia - body.mass * lie.skew(com) @ lie.skew(com)
        rotation_and_translation = {
            'revolute': (1.0, 0.0), 'helical': (1.0, body.pitch), 'prismatic': (0.0, 1.0),
            'floating': (0.0, 0.0)}[body.type]
        body_table[i] = np.concatenate([
            home[:3, :3].ravel(), home[:3, 3], rotation_and_translation,
            [body.mass], com, inertias.pack(inertia), inertias.pack(about_origin),
        ])
    return KernelModel(np.array([body.parent for body in bodies]), body_table, body_in_kernel)
