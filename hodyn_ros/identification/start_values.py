"""Where a fit begins, and joints of which its terms cannot be told at all."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.regressor import PARAMETERS
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.joint_zeros import nearest_zeros
from hodyn_ros.identification.payload import rigid_body
from hodyn_ros.identification.terms import Terms
from hodyn_ros.identification.units import are_far, gain_by_others

Array = NDArray[np.float64]

_DISTINCT = 5.0  # standard deviations of a gain that is looked for from nothing


def start_values(
    model: Terms, begin: Estimate | None,
) -> tuple[Array, dict[str, np.ndarray]]:
    """Return where to begin, (p,), and what the data cannot tell of which joints."""
    theta, n = model.start.copy(), model.robot.n
    # What needs motion to both sides is told of no joint that does not move so.
    held: dict[str, np.ndarray] = {
        kind: ~model.of(kind, model.free) for term, kind in (
            ('friction', 'amplitude'), ('viscous', 'viscous'), ('rotor', 'rotor'),
            ('gains', 'inverse_gain'))
        if term in model.terms and not model.of(kind, model.free).all()}
    if 'zeros' in model.terms:
        quarters = nearest_zeros(model) if begin is None else (
            np.round(begin.joints['zero'] / (0.5 * np.pi)) * 0.5 * np.pi)
        model.of('zero', theta)[:] = quarters
        model.of('zero', model.start)[:] = model.of('zero', theta)
        model.move_to(theta)
    rigid = (model.regressor @ np.concatenate([
        rigid_body(row).parameters
        for row in model.of('links', theta).reshape(-1, PARAMETERS)])).reshape(-1, n)
    if 'gains' in model.terms:
        gain, clear = _rough_gains(model, rigid) if begin is None else (
            begin.parameters['inverse_gain'], np.isfinite(begin.intervals['effort_gain']))
        if begin is not None:
            clear &= ~np.isin(model.robot.joint_names, begin.gains_by_others)
        unclear = model.of('inverse_gain', model.free) & ~clear
        if unclear.any() and not tell_by_others(model, gain, unclear):
            held['inverse_gain'] = held.get('inverse_gain', False) | unclear
            model.of('inverse_gain', model.free)[unclear] = False
        those = model.of('inverse_gain', model.free)
        if begin is None and are_far(gain[those]):
            # At 1, one that cannot be told would draw links and the other gains along.
            gain[~those] = np.median(gain[those])
            those = model.known.any(axis=0)
        for values in (theta, model.start):
            model.of('inverse_gain', values)[those] = gain[those]
    k = model.effort_per_torque(theta)
    rest = np.where(model.known, model.data.effort / k - rigid, np.nan)
    some = 0.1 * np.array([np.nanstd(c) if np.isfinite(c).any() else 0.0 for c in rest.T])
    those = model.of('amplitude', model.free)
    amplitude = model.of('amplitude', theta)
    amplitude[those] = np.maximum(amplitude, some)[those]
    if begin is not None:
        for kind in ('links', 'amplitude', 'slope', 'viscous', 'rotor'):
            those = model.of(kind, model.free)
            model.of(kind, theta)[those] = begin.parameters[kind][those]
    return theta, held


def tell_by_others(model: Terms, gain: Array, those: np.ndarray) -> bool:
    """Set gains of joints, (n,) mask, and how well they are known, as the other joints tell.

    Return whether these tell anything; else nothing is set.
    """
    others = model.of('inverse_gain', model.free) & ~those
    middle, deviation = gain_by_others(gain[others])
    if np.isnan(middle):
        return False
    gain[those] = middle
    for values, value in ((model.start, middle), (model.prior, deviation)):
        model.of('inverse_gain', values)[those] = value
    return True


def _rough_gains(model: Terms, rigid: Array) -> tuple[Array, np.ndarray]:
    """Return effort per N m by least squares beside friction, (n,), and whether it is clear."""
    n = model.robot.n
    gain, clear = np.ones(n), np.zeros(n, np.bool_)
    velocity = model.data.q[:, 1]
    for j in range(n):
        known = model.known[:, j]
        if not known.any():
            continue
        v = velocity[known, j]
        table = np.stack([rigid[known, j], np.tanh(v / 0.05), v, np.ones(len(v))], axis=1)
        scale = np.maximum(np.linalg.norm(table, axis=0), 1e-12)
        effort = model.data.effort[known, j]
        found = np.linalg.lstsq(table / scale, effort, rcond=1e-8)[0]
        left = effort - table / scale @ found
        # Blocks of a second, not samples, count as independent.
        freedom = max(len(np.unique(model.data.block[known])) - 4, 1)
        inverse = np.linalg.pinv((table / scale).T @ (table / scale), rcond=1e-10)
        deviation = np.sqrt(left @ left / freedom * inverse[0, 0])
        gain[j] = found[0] / scale[0]
        clear[j] = abs(found[0]) > _DISTINCT * deviation
    return gain, clear
