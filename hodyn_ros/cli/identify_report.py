"""The results that ``hodyn identify`` prints."""
from __future__ import annotations

from collections.abc import Collection, Sequence
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from hodyn_ros.identification.doubts import DoubtfulJoints
    from hodyn_ros.identification.estimate import Estimate
    from hodyn_ros.identification.validation import Validation
    from hodyn_ros.robot import Robot

_ALWAYS = 0.95  # least share of a joint's efforts at standstill if it stands all the time
_WORTH_COUNTING = 0.005  # a smaller share of a joint's efforts at standstill is not printed
_BETTER = 0.95  # ratio of held-out errors to those of the given file that counts as better
_ALIKE = 1.2  # largest ratio between gains that are printed as one factor
_WIDER = 1.2  # a larger factor by which errors of links widen intervals is printed
_FAR = 3.0  # a gain is far from the robot's if it is this many times larger or smaller

_COLUMNS = (
    ('amplitude', 'A, N m'), ('slope', 'slope, s/rad'),
    ('velocity_offset', 'velocity offset, rad/s'), ('viscous', 'viscous, N m s/rad'),
    ('rotor_inertia', 'rotor, kg m²'), ('effort_gain', 'gain, N m/unit'), ('zero', 'zero, rad'))
_WORDS = {
    'amplitude': 'friction', 'asymmetry': 'asymmetry of friction (slope × velocity offset)',
    'rotor_inertia': 'rotor', 'effort_gain': 'gain'}


def print_identified(
    console: Console, robot: Robot, found: Estimate, validation: Validation, *,
    bags: Sequence[Path], terms: Sequence[str], gravity: bool, is_compared: bool,
) -> None:
    """Print the terms that were identified from bags, and the errors of the robot file.

    `gravity` is whether the efforts contain gravity, `is_compared` whether there are recordings
    without the payload.
    """
    import numpy as np

    from hodyn_ros.cli.identify_payload import print_payload
    from hodyn_ros.cli.tables import make_table, units_of_prismatic

    console.print(
        f'{robot.name}: identified, ± 90 % confidence{units_of_prismatic(robot)}')
    steep = {
        name for value, _, joints in found.bounded if value == 'slope' for name in joints}
    columns = [(heading, found.joints[key], found.intervals[key])
               for key, heading in _COLUMNS if key in found.joints]
    slopes = found.joints.get('slope')
    several = found.offset.ndim > 1
    offset_unit = (
        'N m' if 'effort_gain' not in found.joints else 'unit of effort'
        if robot.effort_gain is None else 'N m by the given gains')
    offsets = [
        (f'offset{f" in {path.name}" if several else ""}, {offset_unit}', value, width)
        for path, value, width in zip(
            bags if several else bags[:1], np.atleast_2d(found.offset),
            np.atleast_2d(found.offset_interval), strict=True)
        if not np.isnan(width).all()]  # if an offset is fitted
    columns += offsets
    for begin in range(0, len(columns), 3):  # more columns would be wider than a terminal
        some = columns[begin:begin + 3]
        table = make_table('joint', *(heading for heading, _, _ in some))
        for i, name in enumerate(robot.joint_names):
            if begin >= len(columns) - len(offsets) and all(
                    math.isnan(width[i]) for _, _, width in some):
                continue  # no effort of this joint is used, so its offsets of 0 mean nothing
            table.add_row(name, *(
                _cell(value[i], width[i], 'bound' if name in steep and value is slopes else 'kept')
                for _, value, width in some))
        console.print(table)
    if 'amplitude' in found.joints:
        console.print(
            '• A is twice the Coulomb friction: the torque of friction changes by A from one '
            'direction of motion to the other.')
    if (factor := found.factor_beside_other_links) > _WIDER:
        console.print(
            '• These intervals count the given links as exact: if their masses and inertias are '
            f'off by 5%, the intervals must be up to {float(f"{factor:.2g}"):g} times as wide to '
            'contain the true values.')
    if found.links:
        table = make_table('body', 'mass, kg', 'was', 'com, mm')
        for body, link, width in zip(
                robot.bodies, found.links, found.links_interval, strict=True):
            table.add_row(
                body.name, _cell(link.mass, width[0]), f'{body.mass:.3g}',
                ', '.join(f'{1e3 * c:.0f}' for c in link.com))
        console.print(table)
        console.print(
            f'• Of the {found.base_parameters} combinations of link parameters that a motion can '
            f'determine, this motion determines {found.told_parameters} better than they were '
            'known; the others stay as in the given links.')
    unmeasured = _unmeasured(robot, validation)
    unsaid = {*unmeasured, *(doubt.joint for doubt in found.doubts)}
    for value, joints, said in (
            *((value, [name for name in joints if name not in unsaid],
               'this motion does not determine it; kept as it was')
              for value, joints in found.held),
            *((*one, "no significant difference from the robot's; kept as it was")
              for one in found.alike),
            ('gain', found.gains_by_others, 'this motion hardly determines it; assumed to be off '
             'by about the same factor as those of the other joints'),
            *((value, joints, f'at {bound:.3g}, the bound of the search; treat it as unknown')
              for value, bound, joints in found.bounded)):
        if joints:
            console.print(f'• {_WORDS.get(value, value)} of {", ".join(joints)}: {said}.')
    if unmeasured:
        console.print(
            f'• No effort of {", ".join(unmeasured)} is measured: all values of '
            f'{"this joint" if len(unmeasured) == 1 else "these joints"} are kept as they were.')
    _print_rests(console, robot, found)
    if 'friction' not in terms:
        console.print(
            '• ' + ('No friction is assumed, since the robot file has none'
                    if robot.friction is None else 'The friction of the robot file is assumed')
            + ': add friction to the --terms to fit it.')
    if not gravity and {'gains', 'links', 'payload', 'zeros'} & set(terms):
        console.print(
            '• The efforts are recorded without gravity, so the errors below say nothing about '
            "the file's prediction of gravity.")
    _print_validation(console, robot, validation)
    if 'payload' in terms:
        print_payload(console, robot, found, is_compared=is_compared)


def _unmeasured(robot: Robot, validation: Validation) -> list[str]:
    return [
        name for name, error in zip(robot.joint_names, validation.before, strict=True)
        if math.isnan(error)]


def _print_rests(console: Console, robot: Robot, found: Estimate) -> None:
    rests = ', '.join(
        f'{name} {share:.0%}' for name, share in zip(
            robot.joint_names, found.standing, strict=False) if share >= _WORTH_COUNTING)
    if rests:
        console.print(
            f'• Efforts of joints that stand ({rests}) are ' + (
                'left out: at rest, friction can have any value up to its largest.'
                if found.rests_left_out else
                'used as if friction were 0. Friction that holds a joint may pass for an offset, '
                'a link or a payload: add friction to the --terms to leave these efforts out.'))
    still = [name for name, share in zip(robot.joint_names, found.standing, strict=False)
             if share >= _ALWAYS]
    if found.links and 2 * len(still) > robot.n:
        console.print(
            '• The recording says little about the links, since most joints stand '
            f'({", ".join(still)}): the intervals assume that all links are off by about the '
            'same share. Move all joints.')


def _print_validation(console: Console, robot: Robot, validation: Validation) -> None:
    """Print the errors of the robot file before and after, and those on held-out motion."""
    import numpy as np

    from hodyn_ros.cli.tables import make_table

    held = 'other recordings' if validation.by_bag else 'other stretches'
    console.print(f'{robot.name}: RMS errors of robot files, N m')
    table = make_table('joint', 'before', 'after', f'from {held}', 'same, mean removed')
    rows = zip(
        robot.joint_names, validation.before, validation.after, validation.held_out,
        validation.held_out_less_mean, strict=True)
    for name, *values in rows:
        table.add_row(name, *('–' if math.isnan(value) else f'{value:.3f}' for value in values))
    console.print(table)
    changed = ', '.join(
        f'{name} {comparable:.3g}' for name, before, comparable in zip(
            robot.joint_names, validation.before, validation.before_by_gains_found, strict=True)
        if not np.isclose(comparable, before, equal_nan=True))
    if changed:
        console.print(
            '• The column "before" has the errors in N m by the given gains. By the gains found, '
            f'the same errors are, in N m: {changed}. The last line compares with these.')


def doubts(robot: Robot, found: Estimate, doubtful: DoubtfulJoints) -> list[str]:
    """Return sentences on implausible properties of the recordings, and what to do."""
    from hodyn_ros.feedforward.limit_table import unit
    from hodyn_ros.limits.margins import both

    said = []
    gains, zeros = (key in found.joints for key in ('effort_gain', 'zero'))
    by_gains = '' if gains else ' (add gains to the --terms to find this)'
    for slides in (False, True):
        misplaced = [
            name for name, body in zip(robot.joint_names, robot.joint_bodies, strict=True)
            if name in doubtful.misplaced and (body.type == 'prismatic') == slides]
        if misplaced:
            searched = zeros and not slides
            said.append(
                f'Positions of {", ".join(misplaced)} are beyond their limits most of the time'
                f'{", also with the zeros found" if searched else ""}. '
                'Before using the file, check whether they are in ' + (
                    'mm, or have another zero than the model.' if slides else
                    'degrees, or whether the limits in the robot file are wrong.' if searched else
                    'degrees, or have other zeros than the model (add zeros to the --terms to '
                    'find these).'))
    foreign = [doubt for doubt in found.doubts if not math.isnan(doubt.recorded)]
    if foreign:
        names = ', '.join(f'{doubt.joint} {doubt.recorded:.2g}' for doubt in foreign)
        said.append(
            "With the gains of the robot file, the efforts of some joints are these multiples of "
            f"the model's torques: {names}. They seem to be in another unit. They are left out, "
            'and these joints keep their parameters. Add gains to the --terms, or give their '
            'effort_gain in the robot file.')
    coarse = [doubt for doubt in found.doubts if not math.isnan(doubt.resolution)]
    said += [
        f'Efforts of {doubt.joint} are hardly larger than their resolution of '
        f'{doubt.resolution:.2g}, and the given file predicts them to within this resolution. '
        'They are left out, and this joint is kept as it was. Record them with a finer '
        'resolution, or move so that they are larger.' for doubt in coarse]
    undetermined = [
        doubt for doubt in found.doubts
        if math.isnan(doubt.limit) and doubt not in (*foreign, *coarse)]
    if undetermined:
        names = ', '.join(doubt.joint for doubt in undetermined)
        factor = undetermined[0].factor
        determined = {
            name: own for name, own, width in zip(
                robot.joint_names, found.gain_factors(robot),
                found.intervals.get('effort_gain', ()), strict=False) if math.isfinite(width)}
        are_alike = all(1.0 / _ALIKE < own / factor < _ALIKE for own in determined.values())
        others, value = (
            (f"×{factor:.3g} the robot's", f', ×{factor:.3g} as for the others,')
            if are_alike and not math.isnan(factor) else
            ("not the robot's" + ''.join(
                f', {name} ×{own:.3g}' for name, own in determined.items()), ''))
        said.append(
            f'Efforts of {names} seem to be in another unit: this motion does not determine their '
            f'gains, and the gains that it determines are {others}. These efforts are left '
            'out, and these joints are kept as they were. Record motions that accelerate and load '
            f'them more, or give their effort_gain{value} in the robot file.')
    for doubt in found.doubts:
        if doubt.limit > 0.0:
            newton = unit(robot, robot.joint_names.index(doubt.joint), 'effort')
            friction, limit = both(doubt.friction, doubt.limit, 3)
            said.append(
                f'Friction of {doubt.joint} would be {friction} {newton}, beyond its '
                f'limit of effort, {limit} {newton}: it is not written, and the '
                "robot's is kept. The efforts of this joint are left out: check whether they are "
                f'in another unit{by_gains}, or whether the limit in the robot file is wrong.')
    if doubtful.overloaded:
        said.append(
            f'Efforts of {", ".join(doubtful.overloaded)} are beyond the limits of effort most '
            'of the time. Before using the file, check whether they are in another unit'
            f'{by_gains}, or whether the limits in the robot file are wrong.')
    if doubtful.unexplained:
        said.append(
            f'The file predicts the effort of {", ".join(doubtful.unexplained)} worse than a '
            'constant would: the sign or unit of the effort, or zeros, axes or links of the '
            'model are wrong, or it lacks a spring. Correct this before using the file' + {
                (False, False): ': add gains and zeros to the --terms to find signs, units and '
                'zeros.',
                (True, False): ': add zeros to the --terms to find zeros.',
                (False, True): ': add gains to the --terms to find signs and units.',
            }.get((gains, zeros), '.'))
    return said


def missing_terms(found: Estimate, named: Collection[str] = ()) -> list[str]:
    """Return warnings about terms, except `named` ones, that are significant but not fitted."""
    words = {'viscous': ('Viscous friction', 'amplitude and slope of friction may absorb a part'),
             'rotor': ('The inertia of the rotors', 'links and payload absorb it')}
    said = []
    for term, joints in found.missing:
        if term in named:
            continue
        names = ', '.join(joints)
        said.append((
            f'Zeros of {names} seem to be off: offsets, friction and payload absorb a part of the '
            'effect, and their intervals do not allow for it. A wrong centre of mass of a link '
            'may have the same effect.' if term == 'zeros' else
            f"{words[term][0]} of {names} differs significantly from the robot's, but is not "
            f'written: {words[term][1]}, and their intervals do not allow for it.')
            + f' Add {term} to the --terms.')
    return said


def far_gains(robot: Robot, found: Estimate) -> list[str]:
    """Return a warning about gains that are far from the robot's."""
    far = ', '.join(
        f'{name} ×{factor:.3g}'
        for name, factor in zip(robot.joint_names, found.gain_factors(robot), strict=True)
        if not 1.0 / _FAR < factor < _FAR)
    return [
        f"Gains are far from the robot's, or have the opposite sign: {far}. They only serve to "
        'read recordings: the feed-forward stays in N m, with the signs of the model. Make sure '
        'that the drive expects such commands before it gets any.'] if far else []


def differing_loads(found: Estimate, bags: Sequence[Path]) -> list[str]:
    """Return warnings about recordings whose load differs from that of the others of their kind.

    These are the loaded recordings, and those of --unloaded.
    """
    loaded = '; '.join(
        f'the payload in {bags[load.bag]} is {abs(load.mass):.2g} kg '
        f'{"lighter" if load.mass < 0.0 else "heavier"}' + (
            '' if math.isnan(load.com[0]) else ', and its centre of mass is shifted by '
            f'({", ".join(f"{1e3 * c:+.0f}" for c in load.com)}) mm')
        for load in found.differing_loads if load.is_loaded)
    said = [
        f'The loaded recordings differ in their payload; compared with the others, {loaded}. A '
        'payload that is turned on the flange counts as different. Identify recordings with '
        'different payloads separately, and give those without a payload by --unloaded: no '
        'payload fits them all.'] if loaded else []
    return said + [
        f'{bags[load.bag]} of --unloaded carries {load.mass:.2g} kg more than the other unloaded '
        'recordings: does it belong to the loaded ones? Give by --unloaded only recordings '
        'without the payload.' for load in found.differing_loads if not load.is_loaded]


def verdict(
    robot: Robot, validation: Validation, doubted: Collection[str] = (), *,
    has_doubts: bool = False,
) -> str:
    """Return for which joints the file is better or worse on held-out motion, and advice.

    Joints in `doubted` are not judged. If `has_doubts`, a whole recording is in doubt: the other
    joints are judged, but the advice is to resolve the doubts first.
    """
    rows = list(zip(
        robot.joint_names, validation.before_by_gains_found, validation.held_out,
        validation.worse, strict=True))
    unjudged = [name for name in robot.joint_names if name in doubted]
    rows = [row for row in rows if row[0] not in unjudged and not math.isnan(row[1])]
    better = [name for name, before, after, _ in rows if after < _BETTER * before]
    worse = [name for name, _, _, is_worse in rows if is_worse]
    alike = [name for name, *_ in rows if name not in {*better, *worse}]
    if not worse and not better:
        return 'On held-out motion the file is better for no joint: keep the given file'
    said = [f'{word} for {", ".join(names)}' for word, names in (
        ('better', better), ('hardly different', alike), ('worse', worse)) if names]
    if unjudged:
        said.append(f'not judged for {", ".join(unjudged)}')
    advice = ': resolve the doubts above before using it' if unjudged or has_doubts else (
        ': record longer and more varied motion before using it' if worse else '')
    return f'On held-out motion the file is {"; ".join(said)}{advice}'


def _cell(value: float, width: float, without: str = 'kept') -> str:
    """Return a value with its interval, or with the word `without` if it has none."""
    return f'{value:.3g} ({without})' if math.isnan(width) else (
        f'{value:.3g} ± {float(f"{width:.2g}"):g}')
