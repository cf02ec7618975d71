"""Robots in random motion, with what pushes them: one case, or a batch of them."""
from dataclasses import dataclass, replace

import numpy as np
from random_robots import assert_close, random_base_motion, random_robot

import hodyn_ros as hd


def joined(result):
    """Return a result in generalized coordinates: the base before the joints, if it floats."""
    return np.concatenate(result[::-1], axis=-1) if isinstance(result, tuple) else result


@dataclass(frozen=True)
class Case:
    """A robot's motion of order r and the wrenches on its bodies; N = n, or 6 + n if it floats.

    Attributes
    ----------
    robot : Robot
    q : (…, r + 3, n) array
    base : dict
        base_pose (…, 4, 4) and base_twist (…, r + 2, 6) of a floating base, or nothing.
    wrenches : (…, r + 1, n_bodies, 6) array, or None

    """

    robot: hd.Robot
    q: np.ndarray
    base: dict
    wrenches: np.ndarray | None = None

    @property
    def velocity(self):
        """Return ν and its derivatives (…, r + 2, N)."""
        return joined((self.q[..., 1:, :], self.base['base_twist'])) if self.base else (
            self.q[..., 1:, :])

    def __getitem__(self, t):
        """Return one case of a batch, or some."""
        return Case(self.robot, self.q[t], {key: x[t] for key, x in self.base.items()},
                    None if self.wrenches is None else self.wrenches[t])

    def of(self, function, *others, first=None, **options):
        """Call a function of robot and q, with the `first` rows of q and the base's to match."""
        q = self.q[..., :first, :]
        base = self.base and {
            **self.base, 'base_twist': self.base['base_twist'][..., :q.shape[-2] - 1, :]}
        return function(self.robot, q, *others, **base, **options)

    def pushed(self, function, *others, **options):
        """Call it likewise, under the wrenches."""
        return self.of(function, *others, external_wrenches=self.wrenches, **options)

    def efforts(self, **options):
        """Return Q (…, r + 1, N) under the wrenches."""
        return joined(self.pushed(hd.inverse_dynamics, **options))

    def driven(self, function, efforts, *others, of_base='base_wrench', **options):
        """Call a function of state and efforts (…, r + 1, N), under the wrenches."""
        size = 6 * self.robot.floating
        known = {of_base: efforts[..., :6]} if size else {}
        return self.pushed(function, efforts[..., size:], *others, first=2, **known, **options)

    def accelerations(self, efforts, **options):
        """Return the derivatives of ν from the first on (…, r + 1, N)."""
        return joined(self.driven(hd.forward_dynamics, efforts, **options))

    def assert_close(self, found, expected, tolerance):
        """Compare derivatives of efforts or of ν, of base and joints by a scale of their own."""
        for part in (slice(6 * self.robot.floating), slice(6 * self.robot.floating, None)):
            assert_close(found[..., part], np.asarray(expected)[..., part], tolerance)

    def accelerated(self, accelerations):
        """Return the case whose state goes on with these derivatives of ν (r + 1, N)."""
        size = 6 * self.robot.floating
        return replace(
            self, q=np.vstack([self.q[:2], accelerations[:, size:]]),
            base=self.base and {**self.base, 'base_twist': np.vstack(
                [self.base['base_twist'][:1], accelerations[:, :6]])})


def case_of(rng, robot, order, count=None):
    """Return a random motion of a robot, or `count` of them; derivatives of the size of one."""
    shape = () if count is None else (count,)
    base = {}
    if robot.floating:
        poses, twists = zip(*(random_base_motion(rng, order) for _ in range(count or 1)),
                            strict=True)
        base = {'base_pose': np.reshape(poses, (*shape, 4, 4)),
                'base_twist': np.reshape(twists, (*shape, order + 2, 6))}
    return Case(
        robot, rng.normal(size=(*shape, order + 3, robot.n)), base,
        rng.normal(scale=3.0, size=(*shape, order + 1, len(robot.bodies), 6)))


def random_case(seed, n_bodies, order, **kind):
    """Return the motion of a random robot of a kind (see `random_robot`)."""
    rng = np.random.default_rng(seed)
    return case_of(rng, random_robot(rng, n_bodies, **kind), order)
