"""Finds the share of the model's gravity torque that efforts contain."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH, is_measured
from hodyn_ros.replay.reading import Reading

CLEAR = 0.1
"""Distance from 0 or 1 within which a share of gravity counts as 0 or 1."""
_OF_A_TOOL = 1.5
"""Share of gravity, above 1, up to which a tool that the model lacks may be the cause."""
_VARIES = 0.05
"""Friction and offsets can be separated from gravity if they leave this share of its squares."""

_OTHERS = 1e-3
"""Least share of the gravity torques' squares in all joints but one, for these to be judged."""

_GLITCH, _LOADED = 20.0, 0.05
"""Efforts whose errors are more than `_GLITCH` times a joint's median are glitches. The median is
that of samples in which gravity is more than the share `_LOADED` of its largest torque."""
_ROUNDS = 2
"""Number of times that glitches are left out: the first share still contains them."""

# Efforts lack gravity if the shares that the model leaves without gravity, over those with it,
# have at most the first product, and none is larger than the second number. They must also be less
# than the third: with wrong zeros, efforts with gravity fit neither way.
_FAR_BETTER, _HARDLY_WORSE, _FITS = 0.1, 1.2, 0.3
_NOISE = 1e-6  # a smaller share of the efforts is round-off
_OPPOSITE = 0.25  # distance from −1 within which gravity has the opposite sign
ANOTHER_UNIT = 5.0  # a share of the gravity torque above this is not explained by any load


def share_of_gravity(gravity: Array, rest: Array, velocity: Array) -> float:
    """Return the share of gravity torques (T, n) in the rest of the efforts, by least squares.

    `rest`, (T, n), is effort minus the model's other torques; NaN where it is not measured.
    Glitches, far beyond a joint's usual error, are left out. If the share is below 1, and only
    one joint, such as one with a counterbalance, lowers it, the share of the others is returned.
    If it is not near 0 or 1, it is fitted again with friction that the model lacks, and then with
    constant offsets of the joints (but not if a missing tool may be the cause). The first of these
    shares near 0 or 1 is returned. NaN if there is no gravity torque.
    """
    known = np.isfinite(rest)
    gravity, rest = np.where(known, gravity, 0.0), np.where(known, rest, 0.0)
    share, whole = _regression(gravity, rest)
    if not whole:
        return share
    for _ in range(_ROUNDS):
        error = np.abs(rest - share * gravity)
        loaded = known & (np.abs(gravity) > _LOADED * np.abs(gravity).max(axis=0))
        for joint in np.flatnonzero(loaded.any(axis=0)):
            usual = np.median(error[loaded[:, joint], joint])
            known[:, joint] &= (error[:, joint] <= _GLITCH * usual) | (usual == 0.0)
        gravity, rest = np.where(known, gravity, 0.0), np.where(known, rest, 0.0)
        share, whole = _regression(gravity, rest)
    if share < 1.0 - CLEAR and not np.isnan(others := _without_one(gravity, rest, known, whole)):
        return others
    if not is_clear(share):
        may_be_a_tool = 1.0 < share < _OF_A_TOOL
        friction, offset = (np.tanh(velocity / COULOMB_WIDTH), velocity), (np.ones_like(rest),)
        for causes in (friction,) if may_be_a_tool else (friction, offset):
            beside, varying = _regression(*(
                _without(causes, each, known) for each in (gravity, rest)))
            if varying > _VARIES * whole and is_clear(beside):
                return beside
    return share


def _without(causes: tuple[Array, ...], signal: Array, known: Flags) -> Array:
    """Return what these causes, (T, n) each, leave of the joints' signals, (T, n)."""
    columns = np.where(known, np.stack(causes), 0.0)
    return np.stack([
        own - by.T @ np.linalg.lstsq(by.T, own, rcond=None)[0]
        for by, own in zip(columns.swapaxes(0, 2).swapaxes(1, 2), signal.T, strict=True)], axis=1)


def _without_one(gravity: Array, rest: Array, known: Flags, whole: float) -> float:
    """Return the share of the other joints if they contain gravity, and one joint does not.

    NaN if there is no such joint. What varies of gravity must not contradict that the others
    contain it: an offset of a light joint may be as large as its gravity torque.
    """
    varying = [_without((np.ones_like(rest),), each, known) for each in (gravity, rest)]
    for joint in range(gravity.shape[1]):
        others, square = _regression(*(np.delete(each, joint, axis=1) for each in (gravity, rest)))
        again, of_varying = _regression(*(np.delete(each, joint, axis=1) for each in varying))
        if square > _OTHERS * whole and abs(others - 1.0) < CLEAR and not (
                of_varying > _VARIES * square and again < 0.5):
            return others
    return np.nan


def _regression(gravity: Array, rest: Array) -> tuple[float, float]:
    """Return the regression coefficient, NaN without gravity torque, and the sum of squares."""
    square = float(np.sum(gravity**2))
    return float(np.sum(gravity * rest)) / square if square > 0.0 else np.nan, square


def is_clear(share: float) -> bool:
    """Whether a share is near 0 or 1; also True if it is unknown (NaN)."""
    return not (abs(share) > CLEAR and abs(share - 1.0) > CLEAR)


def is_opposite(share: float) -> bool:
    """Whether the efforts contain gravity with the opposite sign."""
    return abs(share + 1.0) <= _OPPOSITE


def contain_gravity(share: float) -> bool:
    """Whether efforts are compared with torques that contain gravity; True for NaN."""
    return not share < 0.5 or is_opposite(share)


def lack_gravity(feedforward: FeedForward, samples: EffortSamples) -> bool:
    """Whether efforts fit the model far better without gravity, in either direction."""
    upright, free = (
        feedforward.torque(samples.q, gravity=gravity, friction=False)[:, 0]
        for gravity in (True, False))
    with_gravity, hanging, without = (
        np.maximum(samples.unexplained(torque, gain=None), _NOISE)
        for torque in (upright, 2.0 * free - upright, free))
    ratio = without / np.minimum(with_gravity, hanging)
    return bool(
        np.prod(ratio) < _FAR_BETTER and ratio.max(initial=0.0) < _HARDLY_WORSE
        and without.max(initial=0.0) < _FITS)


def gravity_doubt(share: float) -> str:
    """Return a sentence about a share that is far from both 0 and 1; '' for any other share."""
    if is_clear(share):
        return ''
    said = f"The efforts contain {share:.2f} of the model's gravity torque, "
    verb = 'contain' if contain_gravity(share) else 'do not contain'
    compared = f'compared with torques of the model that {verb} gravity'
    if is_opposite(share):
        return said + (
            f'so gravity has the opposite sign; they are {compared}. If the arm hangs, give its '
            'base_pose (or gravity) in the robot file; if it stands, correct the sign of the axis '
            'or of the effort of the joints that carry weight. On joints whose gravity torque '
            'hardly varies, such as a vertical slide, offsets of the efforts look the same.')
    if share > ANOTHER_UNIT:
        return said + (
            'far more than all: they seem to be in another unit than N m. `hodyn identify '
            '--terms gains` finds the factor; write it to the robot file as `effort_gain`.')
    said += 'more than all: ' if share > 1.0 else 'neither all nor nothing: '
    said += f'they are {compared}. '
    if share > 1.0:
        said += (
            'The arm may carry a load that the model lacks: give it by `--payload LINK KG`, or '
            'find it by `hodyn identify --terms payload`. If it carries none, ')
    causes = (
        'masses, the direction of gravity, zeros of joints, or offsets, units or signs of effort')
    return said + (causes if share > 1.0 else causes.capitalize()) + (
        ' may be wrong, or the arm hardly changed its posture.')


def share_if_read(
    feedforward: FeedForward, reading: Reading | None, q: Array, effort: Array,
) -> float:
    """Return the share of gravity in misread efforts, (S, n), under the right reading.

    Motions are (S, 5, n). NaN without a reading, and under one with another model or motion of
    the links.
    """
    if reading is None or reading.load or reading.mounting or reading.are_of_motors:
        return np.nan
    q, effort = reading.motion(q, feedforward.robot.turns), reading.effort(effort)
    weightless = feedforward.torque(q, gravity=False)[:, 0]
    rest = np.where(is_measured(effort), effort - weightless, np.nan)
    return share_of_gravity(feedforward.torque(q)[:, 0] - weightless, rest, q[:, 1])


def gravity_facts(share: float, *, if_read: float | None = None) -> list[str]:
    """Return sentences about the gravity in the efforts.

    If these are misread, only against what they are compared, and `if_read`, the share in the
    efforts under the right reading; NaN if it is unknown.
    """
    if if_read is not None:
        if contain_gravity(share):
            return []
        share = if_read if abs(if_read) <= CLEAR else 0.5 - CLEAR
    said = [
        f'The driver reports efforts {word} gravity: they contain {share:.3f} of the gravity '
        'torque of the model.' for word, whole in (('without', 0.0), ('with', 1.0))
        if abs(share - whole) <= CLEAR]
    if not contain_gravity(share):
        said.append(
            'The efforts are compared with torques of the model that do not contain gravity; the '
            'torques in the bag `computed` contain it.')
        if if_read is not None and abs(if_read - 1.0) <= CLEAR:
            said[-1] += ' Corrected as said above, they would contain gravity too.'
    return said
