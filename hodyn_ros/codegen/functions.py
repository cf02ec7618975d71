"""The functions of the generated code: arguments, description and text of each."""
from __future__ import annotations

from dataclasses import dataclass
import re
import textwrap

from hodyn_ros.codegen import routines
from hodyn_ros.codegen.c_text import MAX_LINE, Language, comment, operations
from hodyn_ros.codegen.routines import Section
from hodyn_ros.codegen.settings import Settings

_DERIVATIVES = (
    'position', 'velocity', 'acceleration', 'jerk', 'snap', 'crackle', 'pop')


@dataclass(frozen=True)
class Function:
    """A function of the generated code."""

    name: str  #: Its name, without the prefix
    about: str  #: Description for the header
    result: str  #: Type of the return value
    arguments: tuple[str, ...]  #: Declarations of the arguments
    body: tuple[str, ...]  #: Lines of the body
    operations: int  #: Largest number of operations; a function of math.h counts as one

    def signature(self, prefix: str) -> list[str]:
        """Return the lines of its declaration, without semicolon or body."""
        head = f'{self.result} {prefix}_{self.name}('
        whole = head + ', '.join(self.arguments) + ')'
        if len(whole) <= 90:
            return [whole]
        *others, last = self.arguments
        return [head, *(f'    {one},' for one in others), f'    {last})']

    def definition(self, prefix: str) -> list[str]:
        """Return the lines of its definition."""
        text = '\n'.join(self.body)
        names = [re.findall(r'\w+', one.partition('[')[0])[-1] for one in self.arguments]
        unread = [
            f'    (void){name};' for name in names if not re.search(rf'\b{name}\b', text)]
        return [
            *self.signature(prefix), '{', *(f'    {line}' for line in self.body), *unread, '}']


def rows(count: int) -> str:
    """Return the names of the rows of a motion."""
    return ', '.join(_DERIVATIVES[:count])


def arguments_of_torque(settings: Settings) -> dict[str, str]:
    """Return the declarations of the arguments of the torque functions, by name."""
    order, number = settings.order, Language(single=settings.single).type
    joints = f'{settings.prefix.upper()}_JOINTS'
    found = {'q': f'const {number} q[{order + 3}][{joints}]'}
    if settings.robot.floating:
        found['base_pose'] = f'const {number} base_pose[4][4]'
        found['base_twist'] = f'const {number} base_twist[{order + 2}][6]'
    if settings.gravity_argument:
        found['gravity'] = f'const {number} gravity[3]'
    if settings.payload_link is not None:
        found['payload'] = f'const {settings.prefix}_payload *payload'
    found['torque'] = f'{number} torque[{order + 1}][{joints}]'
    if settings.robot.floating:
        found['base_wrench'] = f'{number} base_wrench[{order + 1}][6]'
    return found


def functions(settings: Settings) -> list[Function]:
    """Return the functions to generate, each after the functions that it calls."""
    robot, order, language = settings.robot, settings.order, Language(single=settings.single)
    number, joints = language.type, f'{settings.prefix.upper()}_JOINTS'
    arguments = arguments_of_torque(settings)
    motion = arguments['q']
    what, its = (
        ('Q and the wrench on the base', 'their') if robot.floating else ('Q', 'its'))
    highest = '' if order == 0 else f', and {its} time derivatives to order {order},'
    made = [_of_sections(
        'inverse_dynamics',
        f'Writes the joint torques {what}{highest} that a motion needs: rigid bodies and gravity, '
        'but neither friction nor the inertia of rotors.',
        tuple(arguments.values()), routines.inverse_dynamics(
            robot, order, gravity=settings.gravity_argument, payload_link=settings.payload_link),
        language)]
    if settings.friction:
        made.append(_of_sections(
            'friction',
            'Writes the joint torques that overcome friction, with as many derivatives as '
            'inverse_dynamics. They are 0 at rest.',
            (motion, f'{number} friction[{order + 1}][{joints}]'),
            routines.joint_friction(robot, order), language))
    if settings.friction or settings.has_rotors:
        made.append(_feed_forward(settings, language, arguments, made))
    if settings.actuators:
        made += _motors(settings, language, motion)
    return made


def _motors(settings: Settings, language: Language, motion: str) -> list[Function]:
    """Return the motors' functions: one for all instants, or one each for the first and later."""
    prefix, number = settings.prefix, language.type
    joints, motors = f'{prefix.upper()}_JOINTS', f'{prefix.upper()}_MOTORS'
    inputs: tuple[str, ...] = (motion, f'const {number} torque[{settings.order + 1}][{joints}]')
    if settings.has_stiffness:
        inputs += (f'const {number} stiffness[3][{joints}]',)
    past = (f'{prefix}_motor_state *state',) if settings.has_dampers else ()
    output = f'{number} motor[4][{motors}]'
    about = (
        'Writes the reference of the motors for a motion with these torques (all terms), in '
        'link-side units. The rows are position, velocity, acceleration and torque. ')
    if not settings.has_start:
        return [_of_sections(
            'motor_reference',
            f'{about}Returns 0, as these joints can do every motion, or the number of the first '
            'joint, from 1, whose values are not finite. The motors of such a joint keep the '
            'position and torque in `motor`.',
            (*inputs, output),
            routines.motor_reference(settings.robot, started=True), language, stuck=True)]
    about += (
        'Returns 0, or the number of the first joint, from 1, that cannot do the motion: its '
        'spring gives way, leaves its table, or is given less stiffness than the torque needs. '
        'The motors of such a joint keep the position and torque in `motor`, with velocity and '
        'acceleration 0: pass the `motor` of the last call. '
        'The same happens for a joint whose values are not finite.')
    if past:
        about += (
            ' Its damper continues from the last finite torques. dt is the time since the last '
            'call, s.')
    return [
        _of_sections(
            'motor_start',
            'Does the same as motor_reference, at the first instant'
            + (', at rest and with relaxed dampers. ' if past else '. ')
            + 'If a joint cannot do the motion, its motors get q and Q, or q and 0 if values are '
            'not finite; then call motor_start again.',
            (*inputs, *past, output), routines.motor_reference(settings.robot, started=False),
            language, stuck=True),
        _of_sections(
            'motor_reference', about,
            (*inputs, *((f'{number} dt', *past) if past else ()), output),
            routines.motor_reference(settings.robot, started=True), language, stuck=True)]


def _of_sections(
    name: str, about: str, arguments: tuple[str, ...], sections: list[Section],
    language: Language, *, stuck: bool = False,
) -> Function:
    body: list[str] = ['int stuck = 0;'] if stuck else []
    for section in sections:
        lines = [*filter(None, [section.search]), *language.statements(section.tree)]
        if section.held is not None:
            condition = ' && '.join(f'isfinite({value})' for value in section.finite)
            lines = [
                *textwrap.wrap(f'if ({condition}) {{', MAX_LINE - 12, subsequent_indent=8 * ' '),
                *(f'    {line}' for line in lines), '} else {',
                *(f'    {line}' for line in language.statements(section.held)), '}']
        if section.heading:
            lines = [
                '{', *comment(section.heading, '    '), *(f'    {line}' for line in lines), '}']
        body += lines
    if stuck:
        body.append('return stuck;')
    return Function(
        name, about, 'int' if stuck else 'void', arguments, tuple(body),
        sum(operations(section.tree) + section.search_operations for section in sections))


def _feed_forward(
    settings: Settings, language: Language, arguments: dict[str, str], parts: list[Function],
) -> Function:
    """Return the function that sums all terms, as `feedforward.torque` does."""
    prefix = settings.prefix
    joints, order = f'{prefix.upper()}_JOINTS', settings.order
    body = [f'{prefix}_inverse_dynamics({", ".join(arguments)});']
    terms, count = ['inverse_dynamics'], sum(part.operations for part in parts)
    if settings.friction:
        terms.append('friction')
        body = [
            f'{language.type} friction[{order + 1}][{joints}];', 'int i, k;', *body,
            f'{prefix}_friction(q, friction);',
            f'for (k = 0; k < {order + 1}; ++k) {{',
            f'    for (i = 0; i < {joints}; ++i) {{',
            '        torque[k][i] += friction[k][i];',
            '    }',
            '}']
        count += (order + 1) * settings.robot.n
    if settings.has_rotors:
        terms.append('the rotors of the motors')
        for section in routines.rotors(settings.robot, order):
            body += ['{', *(f'    {line}' for line in language.statements(section.tree)), '}']
            count += operations(section.tree)
    return Function(
        'feed_forward', f'Writes the sum of {", ".join(terms[:-1])} and {terms[-1]}.', 'void',
        tuple(arguments.values()), tuple(body), count)
