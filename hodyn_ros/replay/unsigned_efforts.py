"""Finds efforts that are magnitudes, as of servos that send the direction of a load apart."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import percent
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH

_POOR, _BETTER = 0.1, 0.25  # unexplained share as it is, and greatest part of it with signs
_BOTH = 0.05  # least share of samples at which the torque has the rarer sign
_FITS = 5  # signs follow from a fit, and the fit from signs: number of repetitions


def unsigned_efforts(
    feedforward: FeedForward, samples: EffortSamples, least: Array, names: Sequence[str],
) -> str:
    """Return a sentence on joints whose efforts lack their signs; empty if there are none.

    `least` are the least efforts that were recorded, (n,), and `names` those of the joints.
    """
    found = {}
    for gravity in (True, False):
        torque = feedforward.torque(samples.q, gravity=gravity, friction=False)[:, 0]
        for joint in np.flatnonzero(samples.judged & (least >= 0.0)).tolist():
            known = samples.known[:, joint]
            velocity = samples.q[known, 1, joint]
            terms = np.stack([
                np.ones(len(velocity)), np.tanh(velocity / COULOMB_WIDTH), velocity,
                torque[known, joint]], axis=1)
            effort = samples.effort[known, joint]
            signed = _signed(terms, effort)
            negative = float(np.mean(signed < 0.0))
            plain, magnitude = (
                float(np.var(effort - fitted) / np.var(effort))
                for fitted in (_fitted(terms, effort), np.abs(signed)))
            if plain > _POOR and magnitude < _BETTER * plain and (
                    _BOTH < negative < 1.0 - _BOTH):
                found[joint] = plain, magnitude
    if not found:
        return ''
    plain, magnitude = max(found.values())
    return (
        f'The efforts of {", ".join(names[joint] for joint in sorted(found))} are never negative, '
        'and fit the magnitudes of the torques of the model instead: they leave '
        f'{percent(magnitude)} of their changes unexplained, not {percent(plain)}. The driver '
        'seems to leave out the sign, which servos often send apart, as a bit of its own.')


def _fitted(terms: Array, effort: Array) -> Array:
    return np.asarray(terms @ np.linalg.lstsq(terms, effort, rcond=None)[0])


def _signed(terms: Array, magnitude: Array) -> Array:
    """Return the combination of terms, (S, k), whose absolute values fit magnitudes, (S,)."""
    fitted = terms[:, -1]
    for _ in range(_FITS):
        fitted = _fitted(terms, np.copysign(magnitude, fitted))
    return fitted
