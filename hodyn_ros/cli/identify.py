"""``hodyn identify``."""
from __future__ import annotations

import argparse
from dataclasses import replace
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.options import (
    Commands,
    add_force,
    add_robot,
    check_outputs,
    say_what_is_lost,
)
from hodyn_ros.cli.used_robot import for_robot, given_payload
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing
from hodyn_ros.identification import TERMS

if TYPE_CHECKING:
    from hodyn_ros.robot import Robot

USUAL_TERMS = ('friction', 'payload', 'offsets')

_MISREAD = (
    'the recordings do not fit the model, see above: nothing is identified, and nothing written. '
    'Correct the cause')
_FINDS = {
    'gains': 'gains (signs and units of efforts)', 'zeros': 'zeros', 'payload': 'payload',
    'links': 'links (a model that does not fit)'}

_LATE = (
    'Friction and inertia found with this lag are not to be trusted, and their intervals do not '
    'include its effect: {remedy}, and identify again.')


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'identify', help='fit links, friction, payload and more to recordings',
        description='Fits by least squares, with confidence intervals; writes a robot file, reads '
        'it back, and judges it on held-out motion. From a damaged bag it uses what can be read; '
        'the exit code is 1 if messages are lost.')
    parser.add_argument(
        'bags', type=Path, nargs='+', metavar='BAG',
        help='recordings with joint efforts, or folders of them')
    add_robot(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_identify'),
        help='folder for the results (default: hodyn_identify)')
    parser.add_argument(
        '--terms', nargs='+', choices=TERMS, default=USUAL_TERMS, metavar='TERM',
        help=f'terms to fit, of {", ".join(TERMS)} (default: {", ".join(USUAL_TERMS)})')
    parser.add_argument(
        '--unloaded', type=Path, nargs='+', default=[], metavar='BAG',
        help='recordings without the payload that the other recordings have')
    parser.add_argument(
        '--offsets-per-bag', action='store_true', help='fit offsets for each recording separately')
    parser.add_argument('--topic', help='joint state topic, if the bags have several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='prefix of the joint names of one arm, if the bags have several arms')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Identify the robot from bags; return the exit code, 1 if messages are lost."""
    from hodyn_ros.cli.identify_report import (
        differing_loads,
        doubts,
        far_gains,
        missing_terms,
        print_identified,
        verdict,
    )
    from hodyn_ros.cli.identify_warnings import changed_parts, implausible_links, load_elsewhere
    from hodyn_ros.cli.tables import make_console
    from hodyn_ros.fleet.inputs import each_bag
    from hodyn_ros.identification.doubts import doubtful_joints
    from hodyn_ros.identification.identify import identify
    from hodyn_ros.identification.recordings import Recording, Source, read_data
    from hodyn_ros.identification.robot_writer import write_robot
    from hodyn_ros.identification.summary import write_summary
    from hodyn_ros.identification.validation import validate
    from hodyn_ros.replay.statements import GIVEN_LOAD, OF_LINKS
    from hodyn_ros.robot.files import load_robot

    robot, terms, output = load_robot(options.robot), options.terms, options.output
    bags, unloaded = each_bag(options.bags), each_bag(options.unloaded)
    check_outputs(options, *bags, *unloaded, options.robot, contents=_contents(robot))
    if unloaded and 'payload' not in terms:
        raise HodynError('--unloaded only helps to find a payload: add payload to --terms')
    # With unknown gains or zeros, the share of gravity in the efforts cannot be estimated.
    source = Source(
        robot, options.topic, options.joint_prefix,
        True if {'gains', 'zeros'} & set(terms) else None)
    recordings = [
        *(Recording(bag) for bag in bags), *(Recording(bag, loaded=False) for bag in unloaded)]
    paths = [one.path for one in recordings]
    data, counts = read_data(recordings, source)
    pairs = list(zip(recordings, counts, strict=True))
    console = make_console()
    console.print(', '.join(map(str, [*bags, for_robot(options, robot)])), markup=False)
    motions = [source.motion(one.path) for one in recordings]
    for one, motion in zip(recordings, motions, strict=True):
        for sentence in motion.doubts(terms):
            console.print(f'! {one.path}: {sentence}', style='bold')
    if options.payload and any(
            motion.gravity_doubt(terms) or motion.is_misread(terms) for motion in motions):
        console.print(
            f'! {GIVEN_LOAD.format(", ".join(given_payload(options)))}', style='bold')
    damages = [f'{one.path}: {count.damage}' for one, count in pairs if count.lost]
    if any(motion.is_misread(terms) for motion in motions):
        others = ', '.join(said for term, said in _FINDS.items() if term not in terms)
        remedy = _MISREAD + (
            f', or add to --terms the term that finds it: {others}' if others else '')
        raise HodynError('; '.join([remedy, *damages]))
    if any(motion.diagnosis.without(terms).is_wrong for motion in motions):
        data = replace(data, factor=math.nan)  # unknown, as the model does not fit the efforts
    try:
        with console.status('identifying'):
            found = identify(robot, data, terms, each_bag=options.offsets_per_bag)
            validation = validate(
                options.robot, source, recordings, data, terms, found,
                each_bag=options.offsets_per_bag)
    except HodynError as error:
        raise HodynError('; '.join([str(error), *damages])) from None
    doubtful = doubtful_joints(robot, data, found, validation.held_out_less_mean)
    loads = [
        load_elsewhere(robot, found, validation, data, motion, bag, terms)
        for bag, motion in enumerate(motions)]
    findings = [
        [*motion.doubts(terms), *filter(None, [load, lag.sentence if lag.is_large else ''])]
        for motion, load, lag in zip(motions, loads, validation.lags, strict=True)]
    file = output / _robot_file(robot)
    with replacing(output, _contents(robot), force=options.force) as folder:
        folder.mkdir()
        write_robot(options.robot, robot, found, folder / file.name)
        write_summary(
            robot, found, validation, doubtful, pairs, folder / 'identification.json',
            findings=findings)
    for (one, count), motion, load, lag in zip(
            pairs, motions, loads, validation.lags, strict=True):
        small = '' if lag.is_large else lag.sentence
        for sentence in filter(None, [*count.sentences, small]):
            console.print(f'• {one.path}: {sentence}')
        if load:
            console.print(f'! {one.path}: {load}', style='bold')
        if lag.is_large:
            console.print(
                f'! {one.path}: {lag.sentence} {_LATE.format(remedy=lag.remedy)}'
                f'{OF_LINKS if motion.diagnosis.has_springs else ""}', style='bold')
        say_what_is_lost(f'identify: {one.path}', count)
    implausible = implausible_links(robot, found, terms)
    for sentence in (
            *changed_parts(robot, found, paths), *implausible, *doubts(robot, found, doubtful),
            *missing_terms(found), *far_gains(robot, found), *differing_loads(found, paths)):
        console.print(f'! {sentence}', style='bold')
    print_identified(
        console, robot, found, validation, bags=paths,
        terms=terms, gravity=data.gravity, is_compared=bool(unloaded))
    console.print(
        f'{file}: the robot with the identified terms' if found.is_of_the_robot else
        f'{file}: the robot as it was'
        + (' (offsets are not part of a robot file)' if 'offsets' in terms else ''))
    if found.is_of_the_robot:
        doubted = {
            *(doubt.joint for doubt in found.doubts), *doubtful.misplaced, *doubtful.overloaded,
            *doubtful.unexplained}
        has_doubts = bool(found.changes or implausible) or any(loads) or any(
            lag.is_large for lag in validation.lags) or any(
                motion.gravity_doubt(terms) or motion.diagnosis.without(terms).has_a_cause
                for motion in motions)
        console.print(verdict(robot, validation, doubted, has_doubts=has_doubts), style='bold')
    return 1 if any(count.lost for count in counts) else 0


def _robot_file(robot: Robot) -> str:
    return f'{robot.name}_identified.yaml'


def _contents(robot: Robot) -> Contents:
    return Contents(frozenset({_robot_file(robot), 'identification.json'}))
