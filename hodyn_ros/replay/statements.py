"""Results of a replay in sentences: problems that need attention, and other facts."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.estimation.stamp_faults import STAMP_THEM
from hodyn_ros.estimation.timing import StampStatus
from hodyn_ros.limits.margins import LimitMargin, both
from hodyn_ros.replay.comparison import JointComparison, Lag, common_lag, milliseconds, percent
from hodyn_ros.replay.gravity_share import is_clear, is_opposite
from hodyn_ros.replay.motor_positions import SHORTEST
from hodyn_ros.replay.replay_bag import Replay
from hodyn_ros.replay.standstill import ARM_STANDS

OF_LINKS = (
    ' Positions are assumed to be those of the links: if they are those of the motors, subtract '
    'Q/K of each joint from them.')
"""Added, for a robot with springs, to statements that positions of motors may cause."""
_TOO_SHORT = (
    f' Mistakes such as swapped joints are sought only if {SHORTEST:g} s or more have no gap.')

_POOR = 0.3  # ratio of error to effort within the bandwidth from which to warn
# The same if the ratio is _FEW times the median of the joints, and the share _SLOW of the error is
# within the bandwidth.
_LONE, _FEW, _SLOW = 0.1, 5.0, 0.7
_FRICTION = 0.5  # share of the error's square from which friction counts as its cause
# Share of the effort (RMS) that friction would leave unexplained, from which to warn of it too;
# ratio of the mean of an error to its RMS from which it is called nearly constant.
_BESIDE_FRICTION, _CONSTANT = 0.5, 0.9
_NOTABLE = 1e-3  # share of the arm's largest torque below which an error does not matter
# Single efforts leap if more than the share _FAST of the error changes between messages, if the
# largest error is more than _GLITCH times the RMS (white noise: 4 to 5), and if the RMS is more
# than the share _LARGE of the effort's: friction that reverses between messages leaps by less. If
# the effort changes by less than the share _SMOOTH of the error, the prediction leaps instead.
_FAST, _GLITCH, _LARGE, _SMOOTH = 0.9, 8.0, 0.02, 0.5
_CERTAIN = 3.0  # standard deviations beyond which a lag of velocities is a warning
_SURE = 5.0  # the same for a lag of efforts if single ones leap, or a load is missing: as if late
_NO_LAG = 0.2  # lag of velocities, s, above which its cause is hardly a filter
_COMPUTED = 1e-6  # share of the effort below which no error of a measured one can be
_MORE = 1.1  # ratio of wanted to used bandwidth from which to warn
_SCATTERED = 0.3  # jitter, in periods, from which a clock may only seem to have jumped
_COARSE = 0.01  # decimal step of positions that hides when they were sampled, rad or m
_CONTRADICTS = 0.1  # misfit, in periods, from which stamps contradict the positions

GIVEN_LOAD = (
    'The given load, --payload {}, is the first suspect: leave the option out, and find the load '
    'by `hodyn identify --terms payload`.')
"""Said of a load that was given, if the efforts do not fit."""


def warnings(result: Replay) -> list[str]:
    """Return the problems of the result, the most important first, each with what to do."""
    counts, found, diagnosis = result.counts, result.timing_statistics, result.diagnosis
    said = [found.resampled] if found.resampled else []
    if counts.lost:
        said.append(f'The bag is damaged: {counts.damage}. The report covers what could be read.')
    if all(np.isnan(joint.rms_error) for joint in result.joints):
        said.append(
            'No efforts are recorded, so nothing is compared with the model. Check whether the '
            'driver still sends them.')
    said += result.moving_locked
    # A load on another link may look like a spring, or a factor, of one joint.
    if result.payload and (
            not describes(result) or any(_poor(result)[1]) or diagnosis.explained_joints):
        said.append(GIVEN_LOAD.format(', '.join(result.payload)))
    said += diagnosis.efforts.sentences(result.names)
    said += diagnosis.sentences
    if found.clock == 'receive' and found.headers_not_ahead:
        said.append(
            f'{found.headers_not_ahead} header stamps on {counts.topic} stand still or go '
            'backwards: receive times are used instead, with the jitter of the transport. '
            f'{STAMP_THEM}')
    if stale := found.counts[StampStatus.STALE]:
        said.append(
            f'{stale} messages repeat states of earlier messages: two publishers seem to write to '
            "the topic. Record only the driver's messages.")
    if count := found.counts[StampStatus.EMPTY]:
        said.append(
            f'{count} message{" has" if count == 1 else "s have"} exactly 0 for every position, '
            'far from where the arm was before or after: left out. Check why the driver had none.')
    if torn := found.counts[StampStatus.TORN]:
        said.append(
            f'{torn} message{" has" if torn == 1 else "s have"} positions of one sample and '
            'velocities of another: the state was read while it was being written. '
            f'{"It is" if torn == 1 else "They are"} left out. Read it under a lock, or in the '
            'callback of the control loop.')
    if found.astray:
        said.append(_astray(result))
    if found.misfit > _CONTRADICTS * found.period and np.isnan(found.sampling_period) and (
            not found.evenly_spaced):
        said.append(
            f'The positions are rounded to {found.decimal:g} rad or m: they do not show when they '
            'were sampled, and derivatives are less accurate. Record more digits.'
            if _COARSE <= found.decimal < np.inf else
            f'The stamps contradict the positions by {1e3 * found.misfit:.2g} ms (RMS) from '
            'message to message, and the states determine no sampling clock: the stamps are used '
            'as they are, so derivatives are less accurate. Stamp the states where they are '
            'sampled, and make sure that only one publisher writes to the topic.')
    if found.clock_steps:
        jumped = f'jumped {_times(len(found.clock_steps))} by less than a gap'
        said.append(
            f'The stamps {jumped}, unlike the motion: their clock was set, or the driver stalled. '
            'The parts are smoothed separately. Record with a clock that is slewed, not stepped, '
            'and keep the driver from stalling.' if found.jitter < _SCATTERED * found.period else
            f'The stamps scatter by {1e3 * found.jitter:.2g} ms from message to message, as if '
            f'they had {jumped}: the parts are smoothed separately. Stamp the states where they '
            'are sampled.')
    if (wanted := result.wanted_bandwidth) is not None and wanted > _MORE * result.bandwidth:
        said.append(
            f'--bandwidth {wanted:g} Hz is too high: {result.bandwidth:.2g} Hz is used, since '
            f'samples at {1.0 / result.noise.step:.4g} Hz determine no more.')
    said += filter(None, [
        diagnosis.of_motors, diagnosis.another_unit, diagnosis.gravity_doubt])
    far = ', '.join(
        f'{name}: {size:.0f} times the limit' for name, size in diagnosis.beyond_limits.items())
    if far:
        said.append(
            f'Efforts are far beyond their limits ({far}): are they in another unit, such as '
            'N mm, or of a slide in place of its nut, or are the limits in the file too small?')
    said += _about_model(result)
    late = _lag(result)
    if late.is_large:
        wrong = 'Friction and inertia identified from them would be wrong'
        said.append(
            f'{late.sentence}{OF_LINKS} Otherwise {late.remedy}. {wrong}.' if diagnosis.has_springs
            else f'{late.sentence} {wrong}: {late.remedy}.')
    return said + _velocity_lags(result) + _beyond_limits(result)


def _velocity_lags(result: Replay) -> list[str]:
    common, said, diagnosis = result.velocity_lag, [], result.diagnosis
    # Velocities that are wrong in another way may seem to lag.
    own = {} if diagnosis.wrong_velocities or diagnosis.columns else common.own
    for whose, lag, deviation in (
            *((f' of {result.names[joint]}', *lag) for joint, lag in own.items()),
            *([] if diagnosis.columns else [('', common.seconds, common.deviation)])):
        if abs(lag) > max(_CERTAIN * deviation, _NO_LAG):
            said.append(
                f'Recorded velocities{whose} contradict the positions: no lag below 200 ms '
                'explains them. Check what the driver writes there.')
        elif abs(lag) > max(_CERTAIN * deviation, 0.1 * result.timing_statistics.period):
            said.append(
                f'Recorded velocities{whose} run {"behind" if lag > 0.0 else "ahead of"} the '
                f'positions by {milliseconds(lag, deviation)} (two standard deviations)'
                f'{", unlike those of other joints" if whose else ""}, as if the '
                f'{"velocities" if lag > 0.0 else "positions"} were filtered. Take this into '
                'account in a feedback loop.')
    return said


def _beyond_limits(result: Replay) -> list[str]:
    beyond = [extreme for extreme in result.extremes if extreme.beyond]
    reflexes = [reflex for reflex in result.reflexes if reflex.share > 1.0]
    if result.diagnosis.is_motion_misread:
        count = len(beyond) + len(reflexes)
        return [
            f'Limits and reflexes that the motion exceeds as it is recorded: {count}. Judge them '
            'after the mistake above is corrected.'] if count else []
    return [
        *(f'Beyond its limit: {extreme.quantity} of {extreme.joint}, {value} where {allowed} is '
          f'allowed, {_times(extreme.beyond)}.' for extreme in beyond
          for value, allowed in [both(extreme.value, extreme.allowed, 4)]),
        *(f"Beyond a reflex of the vendor's controller: {reflex.reflex}, {_reflex(reflex)}."
          for reflex in reflexes)]


def describes(result: Replay) -> bool:
    """Whether the model describes the efforts, except for bias and friction of each joint."""
    efforts = result.diagnosis.efforts
    return is_clear(efforts.gravity_share) and not (
        result.diagnosis.fit.is_wrong or np.isfinite(efforts.factor)
        or np.isfinite(efforts.gear_ratios).any())


def _astray(result: Replay) -> str:
    found = result.timing_statistics
    count = found.counts[StampStatus.ASTRAY]
    passed, farthest, off = max(found.astray, key=lambda each: abs(each[2]))
    where = f'{abs(off):.2g} rad off its neighbours'
    if count == 1:
        said = (
            f'1 position of {result.names[farthest]} (t = {1e-9 * passed:.4g} s) is {where}: left '
            'out with its message.')
    else:
        joints = sorted({joint for _, joint, _ in found.astray})
        names = ', '.join(result.names[joint] for joint in joints)
        said = (
            f'{count} positions of {names} are far off their neighbours: the farthest, of '
            f'{result.names[farthest]} (t = {1e-9 * passed:.4g} s), is {where}. All are left out '
            'with their messages.')
    return f'{said} Check the driver for faulty reads of encoders and rows of zeros.'


def _leaping(result: Replay) -> list[JointComparison]:
    """Return the joints with single efforts that leap."""
    least = _NOTABLE * result.torque_rms[0].max()
    return [joint for joint in result.joints if (
        joint.rms_error > max(least, _LARGE * joint.rms_effort)
        and joint.rms_fast_error > _FAST * joint.rms_error
        and abs(joint.max_error) > _GLITCH * joint.rms_error)]


def _constant(result: Replay) -> list[str]:
    """Return the joints whose recorded effort never changes."""
    return [joint.name for joint in result.joints if (
        np.isfinite(joint.rms_error) and not np.isfinite(joint.variance_accounted_for))]


def _poor(result: Replay) -> tuple[list[JointComparison], ...]:
    """Return joints with large errors: by friction, by other causes, by missing friction."""
    efforts = result.diagnosis.efforts
    if not result.diagnosis.is_comparable or is_opposite(efforts.gravity_share):
        return [], [], []
    least = _NOTABLE * result.torque_rms[0].max()
    named = {
        *_constant(result), *(joint.name for joint in _leaping(result)),
        *result.diagnosis.beyond_limits, *result.diagnosis.explained_joints,
        *np.array(result.names)[np.isfinite(efforts.gear_ratios)]}
    poor = [joint for joint in result.joints if (
        joint.slow_share > _POOR or _stands_out(joint, result.joints)) and (
            joint.rms_slow_error > least) and joint.name not in named]
    free = {*np.array(result.names)[efforts.lack_friction]}
    bare = [joint for joint in poor if joint.name in free]
    rubbing = [joint for joint in poor if _by_friction(joint) > _FRICTION]
    return rubbing, [joint for joint in poor if joint not in bare and (
        joint not in rubbing or _beside_friction(joint) > _BESIDE_FRICTION)], bare


def _about_model(result: Replay) -> list[str]:
    constant, leaping, said = _constant(result), _leaping(result), []
    rubbing, unexplained, bare = _poor(result)
    if constant:
        said.append(
            f'The recorded effort of {", ".join(constant)} never changes, so it cannot be '
            'compared with the prediction. Check whether the driver reports it, or cuts it at '
            'this value.')
    if leaping:
        worst = max(leaping, key=lambda joint: abs(joint.max_error) / joint.rms_error)
        smooth = worst.rms_fast_effort < _SMOOTH * worst.rms_fast_error
        said.append(
            f'Single {"predictions" if smooth else "efforts"} of '
            f'{", ".join(joint.name for joint in leaping)} leap: the largest error of '
            f'{worst.name} is {abs(worst.max_error) / worst.rms_error:.0f} times its RMS. ' + (
                'The efforts do not: does the driver sometimes stall, or misread positions?'
                if smooth else
                'Were there impacts, or does the driver sometimes read them wrongly?'))
    if bare:
        said.append(
            "The efforts seem to be without friction: the model's friction is most of the error "
            f'of {", ".join(joint.name for joint in bare)}. If the driver compensates friction, '
            'remove `friction` from the robot file: a feed-forward would compensate it twice.')
    if rubbing:
        friction = 'Friction other than that of the model' if result.friction_modelled else (
            'The model has no friction, and friction')
        said.append(
            f'{friction} would explain most of the error of '
            f'{", ".join(joint.name for joint in rubbing)}: `hodyn identify` finds a friction law '
            'and writes it to the robot file.')
    if unexplained:
        still = {*np.array(result.names)[result.still]} & {joint.name for joint in unexplained}
        shares = ', '.join(
            f'{percent(joint.slow_share)} of the effort of {joint.name}'
            f'{" (nearly constant)" if _is_constant(joint) else ""}' for joint in unexplained)
        said += [
            f'The positions of {", ".join(sorted(still))} do not change, and the model does not '
            'explain the efforts there: were these joints at rest, or did their encoders fail?'
        ] if still else []
        said.append(
            f'Errors within the bandwidth of the motion are {shares}, RMS. `hodyn identify` can '
            'fit the model to this arm: by default friction, a payload and offsets, with `--terms '
            'zeros` wrong zeros, with `--terms gains` torque constants, with `--terms links` the '
            'links.')
        if result.diagnosis.has_springs:
            said[-1] += OF_LINKS + _TOO_SHORT * bool(np.isnan(result.diagnosis.fit.unexplained))
    return said


def _stands_out(joint: JointComparison, joints: Sequence[JointComparison]) -> bool:
    """Whether a joint has errors within the bandwidth far above those of most joints."""
    shares = [one.slow_share for one in joints if np.isfinite(one.slow_share)]
    return bool(joint.rms_slow_error > _SLOW * joint.rms_error and joint.slow_share > max(
        _LONE, _FEW * float(np.median(shares))))


def _by_friction(joint: JointComparison) -> float:
    """Return the share of the error's square, its mean included, that friction would explain."""
    constant = min(abs(joint.bias) / joint.rms_slow_error, 1.0) ** 2
    return joint.friction_share * (1.0 - constant)


def _beside_friction(joint: JointComparison) -> float:
    """Return the share of the effort, RMS, that would be unexplained with friction."""
    return float(joint.slow_share * np.sqrt(1.0 - _by_friction(joint)))


def _is_constant(joint: JointComparison) -> bool:
    return abs(joint.bias) > _CONSTANT * joint.rms_slow_error


def facts(result: Replay) -> list[str]:
    """Return the other statements about the recording and the prediction."""
    found, noise, rate = result.timing_statistics, result.noise, 1.0 / result.noise.step
    beside = ', not counting the gaps' if found.gaps else ''
    said = [
        *(said for said in result.counts.sentences if not said.startswith('The bag is damaged')),
        f'Messages come at {1.0 / found.period:.4g} Hz by their {found.clock} stamps, with a '
        f'jitter of {1e3 * found.jitter:.2g} ms.']
    if found.missing:
        said.append(
            f'Messages that are missing by this rate{beside}: {found.missing}. They were lost on '
            'the way to the recorder, or never published; the motion there is estimated from the '
            'messages around. If this is too coarse, give the recorder a longer history.')
    for one, more, events in (
            ('1 gap, of', 'gaps, the longest of', found.gaps),
            ('1 jump back of the clock, of', 'jumps back of the clock, the longest of',
             found.resets)):
        if events:
            said.append(
                f'{one if len(events) == 1 else f"{len(events)} {more}"} '
                f'{max(seconds for _, seconds in events):.3g} s: the parts are smoothed '
                'separately and nothing is interpolated between them.')
    if found.republished:
        said.append(
            f'{found.republished} messages repeat the state of the previous message under a new '
            'stamp, and do not count as samples.')
    if found.restored:
        rest = found.restored - found.determined
        said.append(
            f'The positions show that the states were sampled by a clock of '
            f'{1e3 * found.sampling_period:.5g} ms: {found.restored} samples are put at whole '
            f'multiples of it, at most {1e3 * found.largest_move:.3g} ms from their stamps' + (
                f'; {rest} of them, while the arm hardly moves, are counted by their stamps only.'
                if rest > 0.01 * found.restored else '.'))
    elif found.republished and not found.evenly_spaced:
        said.append('The states determine no sampling clock: the stamps are used as they are.')
    if found.evenly_spaced:
        said.append(
            f'The messages come in bursts: {found.evenly_spaced} samples, which determine no '
            f'sampling clock, are spaced evenly, at most {1e3 * found.largest_move:.3g} ms from '
            'their stamps. Stamp the states where they are sampled.')
    measured = 'positions and velocities' if np.isfinite(noise.velocity).all() and not (
        result.diagnosis.wrong_velocities or result.diagnosis.columns) else 'positions'
    said.append(
        f'The motion is estimated from {measured} with a bandwidth of {_range(noise.bandwidth)} '
        f'Hz; samples at {rate:.4g} Hz do not show motion faster than {0.5 * rate:.3g} Hz. '
        f'Position noise is {_range(1e3 * noise.position)} mrad.')
    if result.still.any():
        joints = ', '.join(np.array(result.names)[result.still])
        said.append(ARM_STANDS if result.still.all() else f'Standing still: {joints}.')
    for k, name in enumerate(('velocity', 'acceleration', 'jerk', 'snap'), start=1):
        poor = [joint for joint, known in zip(
            result.names, result.motion_supported[k], strict=True) if not known]
        if poor:
            who = 'any joint' if len(poor) == len(result.names) else ', '.join(poor)
            torque = ('', '', ', nor Q̇', ', nor Q̈')[k - 1]
            said.append(f'The recording does not resolve the {name} of {who}{torque}.')
    said += result.diagnosis.gravity_facts
    if all(joint.slow_share < _COMPUTED for joint in result.joints):
        said.append(
            f'The efforts on {result.counts.topic} are those of this model to all digits: they '
            'were computed, not measured, and show nothing about an arm. Choose the topic of the '
            'driver with --topic.')
    if not _lag(result).is_large:
        said += filter(None, [_lag(result).sentence])
    if not any(np.isfinite(extreme.limit) for extreme in result.extremes):
        said.append('No limit of the robot is known, so none was checked.')
    elif not any(extreme.beyond for extreme in result.extremes):
        said.append('The estimated motion keeps all known limits of the robot.')
    if result.reflexes and result.reflexes[0].share <= 1.0:
        nearest = result.reflexes[0]
        said.append(
            f"Of the reflexes of the vendor's controller, {nearest.reflex} is nearest, at "
            f'{percent(nearest.share)} of its limit: {_reflex(nearest)}.')
    return said


def _lag(result: Replay) -> Lag:
    """Return the lag of the efforts; NaN if they do not determine it, as with a missing load."""
    diagnosis = result.diagnosis
    is_judged = diagnosis.is_comparable and not diagnosis.of_motors and (
        diagnosis.slight is None or bool(diagnosis.scaled_joints))
    late = common_lag(result.joints) if is_judged else Lag()
    is_unsure = abs(late.seconds) < _SURE * late.deviation
    return Lag(own=late.own) if is_unsure and (
        diagnosis.gravity_doubt or _leaping(result)) else late


def _reflex(reflex: LimitMargin) -> str:
    return (f'{reflex.quantity} {abs(reflex.value):.4g} of {reflex.joint}, where '
            f'{abs(reflex.limit):.4g} is allowed')


def _range(values: Array) -> str:
    low, high = f'{values.min():.2g}', f'{values.max():.2g}'
    return low if low == high else f'{low} to {high}'


def _times(count: int) -> str:
    return 'once' if count == 1 else f'{count} times'
