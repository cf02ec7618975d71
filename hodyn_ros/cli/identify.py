"""``hodyn identify``."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    from rich.console import Console

    from hodyn_ros.estimation.message_counts import MessageCounts
    from hodyn_ros.identification.data import Data
    from hodyn_ros.identification.doubts import DoubtfulJoints
    from hodyn_ros.identification.estimate import Estimate
    from hodyn_ros.identification.recordings import Motion, Recording, Source
    from hodyn_ros.identification.validation import Validation
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


@dataclass(frozen=True, eq=False)
class _Identified:
    """What was found in the recordings, and what raises doubts about it."""

    robot: Robot
    recordings: list[Recording]
    counts: list[MessageCounts]
    motions: list[Motion]
    terms: Sequence[str]
    data: Data
    found: Estimate
    validation: Validation
    doubtful: DoubtfulJoints
    loads: list[str]  # of each recording: a load that another link seems to carry, or empty

    @property
    def named_terms(self) -> set[str]:
        """Terms that need no warning: all if another link seems to carry a load.

        Otherwise these are the terms that sentences about the recordings already name.
        """
        from hodyn_ros.replay.small_changes import SmallZero

        if any(self.loads) or any(
                motion.diagnosis.without(self.terms).has_a_cause for motion in self.motions):
            return set(TERMS)
        return {'zeros'} if any(
            isinstance(motion.diagnosis.slight, SmallZero) for motion in self.motions) else set()

    @property
    def findings(self) -> list[list[str]]:
        """Sentences about each recording."""
        return [
            [*motion.doubts(self.terms),
             *filter(None, [load, lag.sentence if lag.is_large else ''])]
            for motion, load, lag in zip(
                self.motions, self.loads, self.validation.lags, strict=True)]


def run(options: argparse.Namespace) -> int:
    """Identify the robot from bags; return the exit code, 1 if messages are lost."""
    from hodyn_ros.cli.tables import make_console
    from hodyn_ros.fleet.inputs import each_bag
    from hodyn_ros.identification.recordings import Recording, Source
    from hodyn_ros.identification.robot_writer import write_robot
    from hodyn_ros.identification.summary import write_summary
    from hodyn_ros.robot.files import load_robot

    robot, terms, console = load_robot(options.robot), options.terms, make_console()
    bags, unloaded = each_bag(options.bags), each_bag(options.unloaded)
    file = f'{robot.name}_identified.yaml'
    contents = Contents(frozenset({file, 'identification.json'}))
    check_outputs(options, *bags, *unloaded, options.robot, contents=contents)
    if unloaded and 'payload' not in terms:
        raise HodynError('--unloaded only helps to find a payload: add payload to --terms')
    # Unknown gains and zeros change the share of gravity that seems to be in the efforts.
    source = Source(
        robot, options.topic, options.joint_prefix,
        assumes_gravity=bool({'gains', 'zeros'} & set(terms)))
    recordings = [
        *(Recording(bag) for bag in bags), *(Recording(bag, loaded=False) for bag in unloaded)]
    result = _identified(options, source, recordings, console)
    with replacing(options.output, contents, force=options.force) as folder:
        folder.mkdir()
        write_robot(options.robot, robot, result.found, folder / file)
        write_summary(
            robot, result.found, result.validation, result.doubtful,
            list(zip(recordings, result.counts, strict=True)), folder / 'identification.json',
            findings=result.findings)
    _say(console, result, options.output / file, is_compared=bool(unloaded))
    return 1 if any(count.lost for count in result.counts) else 0


def _identified(
    options: argparse.Namespace, source: Source, recordings: list[Recording], console: Console,
) -> _Identified:
    """Return what is found; HodynError if recordings are misread, or nothing can be found."""
    from hodyn_ros.cli.identify_warnings import load_elsewhere
    from hodyn_ros.identification.doubts import doubtful_joints
    from hodyn_ros.identification.identify import identify
    from hodyn_ros.identification.recordings import read_data
    from hodyn_ros.identification.validation import validate
    from hodyn_ros.replay.statements import GIVEN_LOAD

    robot, terms = source.robot, options.terms
    data, counts = read_data(recordings, source)
    paths = [one.path for one in recordings]
    of_the_robot = [str(one.path) for one in recordings if one.loaded]
    console.print(', '.join([*of_the_robot, for_robot(options, robot)]), markup=False)
    motions = [source.motion(path) for path in paths]
    for path, motion in zip(paths, motions, strict=True):
        for sentence in motion.doubts(terms):
            console.print(f'! {path}: {sentence}', style='bold')
    if options.payload and any(
            motion.gravity_doubt(terms) or motion.is_misread(terms) for motion in motions):
        console.print(
            f'! {GIVEN_LOAD.format(", ".join(given_payload(options)))}', style='bold')
    damages = [
        f'{path}: {count.damage}' for path, count in zip(paths, counts, strict=True) if count.lost]
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
    return _Identified(
        robot, recordings, counts, motions, terms, data, found, validation,
        doubtful_joints(robot, data, found, validation.held_out_less_mean), [
            load_elsewhere(robot, found, validation, data, motion, bag, terms)
            for bag, motion in enumerate(motions)])


def _say(console: Console, result: _Identified, file: Path, *, is_compared: bool) -> None:
    """Print what was found and written to a file."""
    from hodyn_ros.cli.identify_report import (
        differing_loads,
        doubts,
        far_gains,
        missing_terms,
        print_identified,
        verdict,
    )
    from hodyn_ros.cli.identify_warnings import changed_parts, implausible_links
    from hodyn_ros.replay.statements import OF_LINKS

    robot, terms, found = result.robot, result.terms, result.found
    validation, doubtful = result.validation, result.doubtful
    paths = [one.path for one in result.recordings]
    for path, count, motion, load, lag in zip(
            paths, result.counts, result.motions, result.loads, validation.lags, strict=True):
        small = '' if lag.is_large else lag.sentence
        for sentence in filter(None, [*count.sentences, small]):
            console.print(f'• {path}: {sentence}')
        if load:
            console.print(f'! {path}: {load}', style='bold')
        if lag.is_large:
            console.print(
                f'! {path}: {lag.sentence} {_LATE.format(remedy=lag.remedy)}'
                f'{OF_LINKS if motion.diagnosis.has_springs else ""}', style='bold')
        say_what_is_lost(f'identify: {path}', count)
    implausible = implausible_links(robot, found, terms)
    for sentence in (
            *changed_parts(robot, found, paths), *implausible, *doubts(robot, found, doubtful),
            *missing_terms(found, result.named_terms), *far_gains(robot, found),
            *differing_loads(found, paths)):
        console.print(f'! {sentence}', style='bold')
    print_identified(
        console, robot, found, validation, bags=paths,
        terms=terms, gravity=result.data.gravity, is_compared=is_compared)
    console.print(
        f'{file}: the robot with the identified terms' if found.is_of_the_robot else
        f'{file}: the robot as it was'
        + (' (offsets are not part of a robot file)' if 'offsets' in terms else ''))
    if found.is_of_the_robot:
        doubted = {
            *(doubt.joint for doubt in found.doubts), *doubtful.misplaced, *doubtful.overloaded,
            *doubtful.unexplained}
        has_doubts = bool(found.changes or found.differing_loads or implausible) or any(
            result.loads) or any(lag.is_large for lag in validation.lags) or any(
                motion.gravity_doubt(terms) or motion.diagnosis.without(terms).has_a_cause
                for motion in result.motions)
        console.print(verdict(robot, validation, doubted, has_doubts=has_doubts), style='bold')
