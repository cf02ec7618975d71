"""What ``hodyn identify`` prints of what it found."""
from __future__ import annotations

from collections.abc import Collection, Sequence
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from hodyn_ros.identification.doubtful_joints import DoubtfulJoints
    from hodyn_ros.identification.estimate import Estimate
    from hodyn_ros.identification.validation import Validation
    from hodyn_ros.robot import Robot

_WORTH_COUNTING = 0.005  # of the efforts: what is left out
_BETTER = 0.95  # of the errors before: what held-out errors are better from
_FAR = 3.0  # factor by which a gain is far from what the robot has

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
    """Print what was identified from bags, and what the file is worth.

    `gravity` is whether the efforts contain it, `is_compared` whether there are recordings
    without the payload.
    """
    import numpy as np

    from hodyn_ros.cli.tables import make_table

    console.print(f'{robot.name}: identified, ± 90 % confidence')
    columns = [(heading, found.joints[key], found.intervals[key])
               for key, heading in _COLUMNS if key in found.joints]
    several = found.offset.ndim > 1
    for number, path in enumerate(bags if several else bags[:1]):
        columns.append((
            f'offset in {path.name}' if several else 'offset, N m',
            *(np.atleast_2d(values)[number]
              for values in (found.offset, found.offset_interval))))
    for begin in range(0, len(columns), 3):  # more columns are wider than a terminal
        some = columns[begin:begin + 3]
        table = make_table('joint', *(heading for heading, _, _ in some))
        for i, name in enumerate(robot.joint_names):
            table.add_row(name, *(_cell(value[i], width[i]) for _, value, width in some))
        console.print(table)
    if 'amplitude' in found.joints:
        console.print(
            '• A is twice the Coulomb friction: the law of friction goes by A from one direction '
            'of motion to the other.')
    if found.links:
        table = make_table('body', 'mass, kg', 'was', 'com, mm')
        for body, link, width in zip(
                robot.bodies, found.links, found.links_interval, strict=True):
            table.add_row(
                body.name, _cell(link.mass, width[0]), f'{body.mass:.3g}',
                ', '.join(f'{1e3 * c:.0f}' for c in link.com))
        console.print(table)
        console.print(
            f'• Of the {found.base_parameters} combinations of parameters of the links that any '
            f'motion tells, this one tells {found.told_parameters} better than they were known; '
            'the others keep to the given links.')
    doubtful = {doubt.joint for doubt in found.doubts}
    for value, joints in found.held:
        joints = tuple(name for name in joints if name not in doubtful)
        if joints:
            console.print(
                f'• {_WORDS.get(value, value)} of {", ".join(joints)}: this motion cannot tell it '
                'from other terms; kept as it was.')
    for value, joints in found.alike:
        console.print(
            f'• {_WORDS.get(value, value)} of {", ".join(joints)}: no significant difference from '
            'what the robot has; kept as it was.')
    if found.gains_by_others:
        console.print(
            f'• gain of {", ".join(found.gains_by_others)}: this motion hardly tells it; taken to '
            'be about that of the other joints, which are off alike.')
    for value, bound, joints in found.bounded:
        console.print(
            f'• {_WORDS.get(value, value)} of {", ".join(joints)}: at {bound:.3g}, the bound of '
            'what is looked for; take it for unknown.')
    _print_rests(console, robot, found)
    if not gravity and {'links', 'payload'} & set(terms):
        console.print(
            '• The efforts are recorded without gravity, so that they do not judge what the file '
            'predicts of it.')
    print_validation(console, robot, validation)
    if 'payload' in terms:
        _print_payload(
            console, robot, found, is_friction_fitted='friction' in terms,
            is_compared=is_compared)


def _print_rests(console: Console, robot: Robot, found: Estimate) -> None:
    rests = ', '.join(
        f'{name} {share:.0%}' for name, share in zip(
            robot.joint_names, found.standing, strict=False) if share >= _WORTH_COUNTING)
    if rests:
        console.print(
            f'• Efforts of joints that stand ({rests}) are ' + (
                'left out: friction that holds a joint is anything up to its largest.'
                if found.rests_left_out else
                'taken to be free of friction, which can hold a joint and pass for an offset, a '
                'link or a payload: with friction among the --terms they would be left out.'))


def print_validation(console: Console, robot: Robot, validation: Validation) -> None:
    """Print the errors of the robot file before and after, and on what was held out."""
    import numpy as np

    from hodyn_ros.cli.tables import make_table

    held = 'other recordings' if validation.by_bag else 'other stretches'
    console.print(f'{robot.name}: RMS errors of robot files, N m')
    table = make_table('joint', 'before', 'after', f'from {held}', 'less mean')
    rows = zip(
        robot.joint_names, validation.before, validation.after, validation.held_out,
        validation.held_out_less_mean, strict=True)
    for name, *values in rows:
        table.add_row(name, *(f'{value:.3f}' for value in values))
    console.print(table)
    changed = ', '.join(
        f'{name} {comparable:.3g}' for name, before, comparable in zip(
            robot.joint_names, validation.before, validation.before_by_gains_found, strict=True)
        if not np.isclose(comparable, before))
    if changed:
        console.print(
            '• Before, efforts were read by the gains given. By those found these errors would '
            f'be, N m: {changed}. The last line compares with these.')


def doubts(robot: Robot, found: Estimate, doubtful: DoubtfulJoints) -> list[str]:
    """Return what of the recordings cannot be as it is taken, and what to do about it."""
    from hodyn_ros.feedforward.limit_table import unit

    said = [
        f'Positions of {", ".join(doubtful.misplaced)} are beyond their limits most of the '
        'time: see whether they are in degrees, or other zeros than those of the model, which '
        'zeros among the --terms look for, before using the file.'] if doubtful.misplaced else []
    foreign = [doubt for doubt in found.doubts if not math.isnan(doubt.recorded)]
    if foreign:
        names = ', '.join(f'{doubt.joint} {doubt.recorded:.2g}' for doubt in foreign)
        said.append(
            "Efforts of some joints are far from the model's torques by the gains of the robot "
            f'file, as many times as these: {names}. They seem to be in another unit. They are '
            'left out; all of these joints is kept as it was. Add gains to the --terms, or state '
            'their effort_gain in the robot file.')
    untold = [
        doubt for doubt in found.doubts if math.isnan(doubt.limit) and doubt not in foreign]
    if untold:
        names = ', '.join(doubt.joint for doubt in untold)
        factor = untold[0].factor
        others, value = (
            ('others than the robot has', '') if math.isnan(factor) else
            (f'×{factor:.3g} of what the robot has', f', ×{factor:.3g} as of the others,'))
        said.append(
            f'Efforts of {names} seem to be in another unit: this motion cannot tell their gain, '
            f'and the gains that it tells are {others}. They are left out; friction and all else '
            'of these joints is kept as it was. Record motions that accelerate and load them '
            f'more, or state their effort_gain{value} in the robot file.')
    for doubt in found.doubts:
        if doubt.limit > 0.0:
            newton = unit(robot, robot.joint_names.index(doubt.joint), 'effort')
            said.append(
                f'Friction of {doubt.joint} would be {doubt.friction:.3g} {newton}, beyond its '
                f'limit of effort, {doubt.limit:.3g} {newton}: it is not written, and what the '
                'robot has is kept. The efforts of this joint are left out: see whether they are '
                'in another unit, which gains among the --terms find, or the limit in the robot '
                'file is wrong.')
    if doubtful.overloaded:
        said.append(
            f'Efforts of {", ".join(doubtful.overloaded)} are beyond the limits of effort most '
            'of the time: see whether they are in another unit, which gains among the --terms '
            'find, or the limits in the robot file are wrong, before using the file.')
    if doubtful.unexplained:
        said.append(
            f'The file predicts the effort of {", ".join(doubtful.unexplained)} worse than a '
            'constant would: the sign or unit of the effort, or zeros, axes or links of the '
            'model are others. See to this before using the file: gains and zeros among the '
            '--terms look for signs, units and zeros.')
    return said


def far_gains(robot: Robot, found: Estimate) -> list[str]:
    """Return what gains far from those that the robot has mean."""
    far = ', '.join(
        f'{name} ×{factor:.3g}'
        for name, factor in zip(robot.joint_names, found.gain_factors(robot), strict=True)
        if not 1.0 / _FAR < factor < _FAR)
    return [
        f'Gains are far from what the robot has, or of the other sign: {far}. They serve to read '
        'recordings alone: the feed-forward stays in N m, with the signs of the model. See that '
        'the drive takes such commands before it gets any.'] if far else []


def differing_loads(found: Estimate, bags: Sequence[Path]) -> list[str]:
    """Return which loaded recordings have another payload than the other ones."""
    differ = '; '.join(
        f'in {bags[load.bag]} {load.mass:+.2g} kg, its centre of mass '
        f'({", ".join(f"{1e3 * c:+.0f}" for c in load.com)}) mm away'
        for load in found.differing_loads)
    return [
        f'The loaded recordings differ in their payload; against the others, {differ}. One that '
        'is turned on the flange counts as another. Identify them apart: what is found here is '
        'none of them.'] if differ else []


def verdict(
    robot: Robot, validation: Validation, doubted: Collection[str] = (), *,
    has_doubts: bool = False,
) -> str:
    """Return for which joints the file is better on held-out motion, and what to do if not.

    `has_doubts` says that there are doubts about all joints, which are judged all the same.
    """
    rows = list(zip(
        robot.joint_names, validation.before_by_gains_found, validation.held_out,
        validation.worse, strict=True))
    unjudged = [name for name in robot.joint_names if name in doubted]
    rows = [row for row in rows if row[0] not in unjudged]
    better = [name for name, before, after, _ in rows if after < _BETTER * before]
    worse = [name for name, _, _, is_worse in rows if is_worse]
    alike = [name for name, *_ in rows if name not in {*better, *worse}]
    if not worse and not better:
        return 'On held-out motion the file is better for no joint: keep the one that was given'
    said = [f'{word} for {", ".join(names)}' for word, names in (
        ('better', better), ('hardly different', alike), ('worse', worse)) if names]
    if unjudged:
        said.append(f'not judged for {", ".join(unjudged)}')
    advice = ': see to the doubts above before using it' if unjudged or has_doubts else (
        ': record longer and more varied motion before using it' if worse else '')
    return f'On held-out motion the file is {"; ".join(said)}{advice}'


def _print_payload(
    console: Console, robot: Robot, found: Estimate, *, is_friction_fitted: bool,
    is_compared: bool,
) -> None:
    import numpy as np

    last = robot.bodies[-1]
    if found.payload is None:
        console.print(
            f'No payload on {last.name}, the last body, that differs from 0 significantly: '
            f'{found.payload_at_most:.2g} kg at most (90 % confidence)'
            + ('.' if is_compared else
               '; where there is one, a recording without it, --unloaded, tells far more.'))
        if last.type == 'prismatic' or any(
                body.parent == last.parent for body in robot.bodies[:-1]):
            console.print(
                '• A payload is looked for on the last body alone: where that is a finger, fix '
                f'the joints of the gripper, --lock {last.joint}=… say.')
        return
    width = found.payload_interval
    com = ', '.join(
        f'{1e3 * c:.1f} ± {1e3 * w:.1f}'
        for c, w in zip(found.payload.com, width[1:4], strict=True))
    console.print(
        f'Payload {found.payload.mass:.3f} ± {width[0]:.3f} kg at ({com}) mm in the axes of '
        f'{last.name}; ' + (
            f'inertia {np.array2string(found.payload.inertia.diagonal(), precision=4)} kg m², '
            'diagonal' if found.inertia_excited else
            'the motion tells nothing of its inertia: a point'))
    console.print(
        f'• The interval takes the links to be off by {found.link_level:.0%}'
        + ('' if math.isnan(found.gain_level)
           else f', the gains of drives by {found.gain_level:.1%}')
        + ', as the recordings make likely' + (
            '.' if is_friction_fitted else ', and the friction to be that of the robot file'
            + (', which has none' if robot.friction is None else '')
            + ': with friction among the --terms it would contain that of this arm.'))


def _cell(value: float, width: float) -> str:
    return f'{value:.3g} (kept)' if math.isnan(width) else (
        f'{value:.3g} ± {float(f"{width:.2g}"):g}')
