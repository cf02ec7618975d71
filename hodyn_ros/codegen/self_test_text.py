"""The text of the self-test: its tables and comparisons."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hodyn_ros.codegen.c_text import Language, comment, initializer
from hodyn_ros.codegen.functions import Function, arguments_of_torque
from hodyn_ros.codegen.self_test import PERIOD, Samples, samples
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.common.arrays import Array

TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-4
"""Tolerance of the self-test, as a share of a row's largest entry over all instants."""
_DIGITS = 12


def self_test_text(settings: Settings, made: list[Function]) -> Iterator[str]:
    """Yield the lines of the self-test."""
    prefix, upper, given = settings.prefix, settings.prefix.upper(), samples(settings)
    language, names = Language(single=settings.single), {function.name for function in made}
    number, order = language.type, settings.order
    absolute = language.function('fabs')
    yield from (
        '',
        *comment('Whether all entries are right within the tolerance of their row.'),
        f'static int agree(const {number} *found, const {number} *right, const {number} *error,',
        '                 int rows, int columns)',
        '{',
        '    int i, k;',
        '    for (k = 0; k < rows; ++k) {',
        '        for (i = k * columns; i < (k + 1) * columns; ++i) {',
        f'            if (!({absolute}(found[i] - right[i]) <= error[k])) {{',
        '                return 0;',
        '            }',
        '        }',
        '    }',
        '    return 1;',
        '}',
        '',
        f'int {prefix}_self_test(void)',
        '{')
    for line in (
            *_arrays(settings, given, names, language),
            f'{number} torque[{order + 1}][{upper}_JOINTS];',
            *([f'{number} base_wrench[{order + 1}][6];'] if settings.robot.floating else ()),
            *([f'{number} motor[4][{upper}_MOTORS];'] if settings.actuators else ()),
            *([f'{prefix}_motor_state state;'] if settings.has_dampers else ()),
            'int t;',
            f'for (t = 0; t < {len(given.q)}; ++t) {{',
            *(f'    {line}' for line in _checks(settings, names, language)),
            '}',
            'return 0;'):
        yield f'    {line}'
    yield '}'


def _arrays(
    settings: Settings, given: Samples, names: set[str], language: Language,
) -> Iterator[str]:
    arrays: dict[str, Array] = {'q': given.q, 'right_torque': given.torque}
    if settings.robot.floating:
        arrays |= {
            'base_pose': given.base_pose, 'base_twist': given.base_twist,
            'right_base_wrench': given.base_wrench}
    if settings.gravity_argument:
        arrays['gravity'] = given.gravity
    if settings.payload_link is not None:
        yield f'static const {settings.prefix}_payload payload[{len(given.q)}] = {{'
        for row in given.payload:
            mass, com, inertia = (
                ', '.join(_rounded(value, language) for value in part)
                for part in (row[:1], row[1:4], row[4:]))
            yield f'    {{{mass}, {{{com}}}, {{{inertia}}}}},'
        yield '};'
    if 'friction' in names:
        arrays['right_friction'] = given.friction
    if 'feed_forward' in names:
        arrays['right_feed_forward'] = given.feed_forward
    if settings.actuators:
        arrays |= {'load': given.load, 'right_motor': given.motor}
        if settings.has_stiffness:
            arrays['stiffness'] = given.stiffness
    for name, array in arrays.items():
        shape = ''.join(f'[{size}]' for size in array.shape)
        yield f'static const {language.type} {name}{shape} = {{'
        for instant in array:
            if instant.ndim == 1:
                yield from initializer([_rounded(value, language) for value in instant], '},')
            else:
                yield '    {'
                for row in instant:
                    yield from (f'    {line}' for line in initializer(
                        [_rounded(value, language) for value in row], '},'))
                yield '    },'
        yield '};'
        if name.startswith('right_'):
            share = SINGLE_TOLERANCE if settings.single else TOLERANCE
            errors = share * np.abs(array).max(axis=(0, 2))
            yield (f'static const {language.type} {name}_error[{len(errors)}] = {{'
                   + ', '.join(language.number(float(f'{one:.2g}')) for one in errors) + '};')
    if settings.actuators:
        numbers = ', '.join(map(str, given.stuck))
        yield f'static const int right_stuck[{len(given.q)}] = {{{numbers}}};'


def _checks(settings: Settings, names: set[str], language: Language) -> Iterator[str]:
    prefix, upper, order = settings.prefix, settings.prefix.upper(), settings.order
    results = {'torque': 'torque', 'base_wrench': 'base_wrench', 'payload': '&payload[t]'}
    given = [results.get(name, f'{name}[t]') for name in arguments_of_torque(settings)]
    wrong = ['    return t + 1;', '}']

    def compared(found: str, right: str, count: int, columns: str) -> list[str]:
        return [f'if (!agree(&{found}[0][0], &{right}[t][0][0], {right}_error, '
                f'{count}, {columns})) {{', *wrong]

    for name, arguments in (
            ('inverse_dynamics', given), ('friction', ['q[t]', 'torque']),
            ('feed_forward', given)):
        if name in names:
            yield f'{prefix}_{name}({", ".join(arguments)});'
            right = 'right_torque' if name == 'inverse_dynamics' else f'right_{name}'
            yield from compared('torque', right, order + 1, f'{upper}_JOINTS')
            if 'base_wrench' in arguments:
                yield from compared('base_wrench', 'right_base_wrench', order + 1, '6')
    if not settings.actuators:
        return
    inputs = ['q[t]', 'load[t]', *(['stiffness[t]'] if settings.has_stiffness else ())]
    past = ['&state'] if settings.has_dampers else []
    dt = [language.number(PERIOD)] if settings.has_dampers else []
    if settings.has_start:
        start = ', '.join([*inputs, *past, 'motor'])
        go_on = ', '.join([*inputs, *dt, *past, 'motor'])
        yield f'if ((t == 0 ? {prefix}_motor_start({start})'
        yield f'        : {prefix}_motor_reference({go_on})) != right_stuck[t]) {{'
    else:
        yield (f'if ({prefix}_motor_reference({", ".join([*inputs, "motor"])}) '
               '!= right_stuck[t]) {')
    yield from wrong
    yield from compared('motor', 'right_motor', 4, f'{upper}_MOTORS')


def _rounded(value: float, language: Language) -> str:
    """Return a number to 12 digits: machines differ in the digits after them."""
    return language.number(float(f'{value:.{_DIGITS}g}'))
