"""Warnings of ``hodyn identify`` about efforts that the model cannot explain."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hodyn_ros.identification.changes import Change
    from hodyn_ros.identification.data import Data
    from hodyn_ros.identification.estimate import Estimate
    from hodyn_ros.identification.recordings import Motion
    from hodyn_ros.identification.validation import Validation
    from hodyn_ros.robot import Robot

_LEFT = 0.1  # a load elsewhere is named if held-out errors are this share of the efforts
_FACTOR = 3.0  # ratio of the found and the given mass beyond which a link is implausible


def load_elsewhere(
    robot: Robot, found: Estimate, validation: Validation, data: Data, motion: Motion, bag: int,
    terms: Collection[str],
) -> str:
    """Return a sentence on a load that no payload of the last link explains, or an empty string.

    With such a load, the efforts of the recording contain too much gravity, and the fitted terms
    leave large errors. Loads that differ between recordings, a part that does not fit, or a cause
    that is already named, explain both.
    `bag` and `motion` are the number and the motion of the recording.
    """
    import numpy as np

    from hodyn_ros.replay.gravity_share import ANOTHER_UNIT

    others = {*terms} - {'payload'}
    if found.payload is not None or motion.gravity_doubt(terms) or (
            not motion.gravity_doubt(others)) or (
            motion.diagnosis.without(terms).slight is not None) or bag in {
                *(one.bag for one in found.changes), *(one.bag for one in found.differing_loads)}:
        return ''
    share = motion.diagnosis.efforts.gravity_share
    if share > ANOTHER_UNIT:
        return motion.gravity_doubt(others)
    effort = data.effort[data.bag == bag]
    known = np.isfinite(effort)
    efforts = np.sqrt(
        np.sum(np.where(known, effort, 0.0) ** 2, axis=0) / np.maximum(known.sum(axis=0), 1))
    left = np.nan_to_num(validation.held_out_of_bags[bag])
    if np.linalg.norm(left) < _LEFT * np.linalg.norm(efforts):
        return ''
    return (
        f"The efforts contain {share:.2f} of the model's gravity torque, "
        f'and no payload on {robot.bodies[-1].name} explains it. Does another link carry '
        'a load? Try it by `hodyn replay --payload LINK KG`, and write it to the robot file. '
        'Otherwise masses, the direction of gravity, zeros of joints (`--terms zeros`) or torque '
        'constants (`--terms gains`) may be wrong.')


def changed_parts(robot: Robot, found: Estimate, bags: Sequence[Path]) -> list[str]:
    """Return sentences on the parts of recordings whose efforts do not fit."""
    said = []
    for bag, path in enumerate(bags):
        own = [change for change in found.changes if change.bag == bag]
        short = sorted(
            (change for change in own if not change.is_lasting), key=lambda one: one.begin)
        while short:
            some = [short.pop(0)]
            while short and short[0].begin < max(one.end for one in some):
                some.append(short.pop(0))
            begin, end = some[0].begin, max(one.end for one in some)
            said.append(
                f'{path}: from {begin:g} to {end:g} s the efforts do not fit: '
                f'{_errors(robot, some, "instead of")}. A contact, or another load? It changes '
                'the values found: leave this part out.')
        sudden = [change for change in own if change.is_lasting and change.begin > 0.0]
        gradual = [change for change in own if change.is_lasting and not change.begin]
        if sudden:
            begin = max(sudden, key=lambda one: one.error / one.usual).begin
            said.append(
                f'{path}: from about {begin:g} s on, the efforts do not fit the same load, '
                f'friction and offsets as before: {_errors(robot, sudden, "with one model,")} '
                'with two. Was a load picked up or put down? Identify the two parts separately. '
                'Or did another motion begin, with a term that the model lacks?')
        if gradual:
            said.append(
                f'{path}: load, friction or offsets seem to change gradually: '
                f'{_errors(robot, gradual, "with constant ones,")} with changing ones. Does '
                'friction fall as the arm warms up? Record it warm.')
    return said


def implausible_links(robot: Robot, found: Estimate, terms: Collection[str]) -> list[str]:
    """Return a warning about links whose mass is far from the given one.

    If the last link is heavier and no payload was found, it first suggests a load.
    """
    far = {
        body.name: f'{body.name} {link.mass:.3g} ± {width[0]:.2g} kg instead of {body.mass:.3g}'
        for body, link, width in zip(
            robot.bodies, found.links, found.links_interval, strict=False)
        if body.mass > 0.0 and not (
            link.mass - width[0] < _FACTOR * body.mass
            and link.mass + width[0] > body.mass / _FACTOR)}
    if not far:
        return []
    last = robot.bodies[-1]
    load = ''
    if last.name in far and found.payload is None and found.links[-1].mass > last.mass:
        load = f'{last.name} may carry a load: ' + (
            'record the arm without it (--unloaded), or leave links out of the --terms. '
            if 'payload' in terms else 'add payload to the --terms. ')
    return [
        f'Masses of links are implausible: {", ".join(far.values())}. {load}'
        f'{"Otherwise" if load else "Either"} the given links are wrong, or something that is not '
        'part of the model acts on the arm, such as a spring or a counterbalance: subtract its '
        'torques from the efforts.']


def _errors(robot: Robot, changes: Sequence[Change], than: str) -> str:
    """Return the RMS error of each changed joint, and its usual error, as text."""
    from hodyn_ros.feedforward.limit_table import unit

    return 'RMS errors of ' + ', '.join(
        f'{one.joint} {one.error:.2g} '
        f'{unit(robot, robot.joint_names.index(one.joint), "effort")} {than} {one.usual:.2g}'
        for one in changes)
