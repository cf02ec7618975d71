"""The files of the generated code: header, source, CMakeLists.txt and package.xml."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
import hashlib
from importlib import metadata
import re
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.codegen.c_text import MAX_LINE, Language, comment, quoted
from hodyn_ros.codegen.functions import Function, functions, rows
from hodyn_ros.codegen.self_test import PERIOD, VECTORS, Samples, samples
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.robot.files import robot_text

MARK = 'Made by hodyn generate, which overwrites this'
"""Stands at the top of each file."""
TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-4
"""Of the self-test, as a share of the largest entry of a row at any instant."""
_DIGITS = 12


def file_names(prefix: str) -> tuple[str, str, str, str]:
    """Return the names of the files."""
    return f'{prefix}.h', f'{prefix}.c', 'CMakeLists.txt', 'package.xml'


def files(settings: Settings, made: list[Function] | None = None) -> dict[str, str]:
    """Return the texts of all files by name; of the same settings always the same bytes."""
    made = functions(settings) if made is None else made
    texts = (
        _header(settings, made), _source(settings, made), _cmake(settings), _package(settings))
    return {
        name: '\n'.join(line.rstrip() for line in lines) + '\n'
        for name, lines in zip(file_names(settings.prefix), texts, strict=True)}


def fingerprint(settings: Settings) -> str:
    """Return the SHA-256 of the robot, in the file that `save_robot` would write."""
    return hashlib.sha256(robot_text(settings.robot).encode('utf-8')).hexdigest()


def version() -> str:
    """Return the version of this package."""
    try:
        return metadata.version('hodyn_ros')
    except metadata.PackageNotFoundError:  # a checkout on the path
        return 'unknown'


def _header(settings: Settings, made: list[Function]) -> Iterator[str]:
    robot, prefix, upper = settings.robot, settings.prefix, settings.prefix.upper()
    language = Language(single=settings.single)
    yield from comment(_about(settings))
    yield from (f'#ifndef {upper}_H', f'#define {upper}_H', '')
    yield from comment(f'hodyn_ros {version()}; the robot, as hd.save_robot writes it.')
    yield f'#define {upper}_GENERATOR_VERSION {quoted(version())}'
    yield f'#define {upper}_ROBOT_SHA256 \\'
    yield f'    "{fingerprint(settings)}"'
    yield from ('', f'#define {upper}_JOINTS {robot.n}', f'#define {upper}_ORDER {settings.order}')
    yield from _names(f'{upper}_JOINT_NAMES', robot.joint_names)
    if settings.actuators:
        motor_names = robot.require_actuators().motor_names
        yield f'#define {upper}_MOTORS {len(motor_names)}'
        yield from _names(f'{upper}_MOTOR_NAMES', motor_names)
    yield ''
    yield from comment(
        f'For arrays that are not const, where C before C23 wants a cast to pass them as const '
        f'ones (gcc -Wpedantic warns): {upper}_CONST(q).')
    yield f'#define {upper}_CONST(rows) ((const {language.type} (*)[{upper}_JOINTS])(rows))'
    yield from ('', '#ifdef __cplusplus', 'extern "C" {', '#endif', '')
    if settings.payload_link is not None:
        yield from comment(
            f'A load on {settings.payload_link}, in the axes of that link; all 0 for none.')
        yield 'typedef struct {'
        yield f'    {language.type} mass;       /* kg */'
        yield f'    {language.type} com[3];     /* centre of mass, m */'
        yield f'    {language.type} inertia[6]; /* xx yy zz xy xz yz about it, kg m^2 */'
        yield f'}} {prefix}_payload;'
        yield ''
    if settings.has_dampers:
        yield from comment(
            'What the dampers of the joints keep from one instant to the next; motor_start '
            'fills it.')
        yield 'typedef struct {'
        yield f'    {language.type} memory[4][{upper}_JOINTS];'
        yield f'}} {prefix}_motor_state;'
        yield ''
    for function in made:
        yield from comment(f'{function.about}\n{function.operations} operations at most.')
        yield from _ended(function.signature(prefix), ';')
        yield ''
    yield from (f'#ifndef {upper}_NO_SELF_TEST', *comment(
        f'Returns 0 when all functions give what hodyn_ros gives, for {VECTORS} random instants; '
        'else the number of the first wrong one, from 1. Left out, with its tables, where '
        f'{upper}_NO_SELF_TEST is defined.'),
        f'int {prefix}_self_test(void);', '#endif', '')
    yield from ('#ifdef __cplusplus', '}', '#endif', '', '#endif')


def _about(settings: Settings) -> str:
    """Return what a reader of the header has to know first."""
    robot, number = settings.robot, 'float' if settings.single else 'double'
    kinds = [body.type for body in robot.bodies]
    width = max(len(name) for name in robot.joint_names)
    joints = '\n'.join(
        f'  [{i}] {name:{width}}  {kind}, {"m and N" if kind == "prismatic" else "rad and N m"}'
        for i, (name, kind) in enumerate(zip(robot.joint_names, kinds, strict=True)))
    arguments = ''.join(f'{one}, ' for one, there in (
        ('gravity', settings.gravity_argument), ('&payload', settings.payload_link is not None))
        if there)
    joint_count = f'{settings.prefix.upper()}_JOINTS'
    use = (
        f'  {number} q[{settings.order + 3}][{joint_count}] = {{{{0}}}};\n'
        f'  {number} torque[{settings.order + 1}][{joint_count}];\n'
        f'  {settings.prefix}_inverse_dynamics({settings.prefix.upper()}_CONST(q), {arguments}'
        'torque);')
    weight = (
        'Gravity is an argument: the acceleration vector in the axes that the robot file puts its '
        'base in, m/s^2, (0, 0, -9.81) where z points up.' if settings.gravity_argument else
        'Gravity is ({:g}, {:g}, {:g}) m/s^2 in the axes that the robot file puts its base '
        'in.'.format(*robot.gravity))
    left_out = [
        text for text, there in (
            ('friction', robot.friction is not None and not settings.friction),
            ('rotor inertia', robot.rotor_inertia is not None and not settings.has_rotors),
            ('actuators', robot.actuators is not None and not settings.actuators)) if there]
    missing = f'\nOf the robot file not in this code: {", ".join(left_out)}.' if left_out else ''
    return (
        f'{MARK}: dynamics of {robot.name} to order {settings.order}.\n\n'
        f'{use}\n\n'
        'Joints, in the order of all arrays, with zeros and directions of the robot file:\n'
        f'{joints}\n\n'
        f'A row has one entry a joint, and each row is the time derivative of the one before, in '
        f'SI units: q {rows(settings.order + 3)}; torque {_torque_rows(settings.order)}. '
        f'{weight}{missing}\n\n'
        'No function allocates, keeps anything, or needs more than math.h; each may run on any '
        'thread. Those of the rigid bodies have no loops and no branches, so they take the same '
        'time for all values. Nothing is checked: keep out what is not finite, which not all '
        'results show. Results must not overlap arguments.')


def _torque_rows(order: int) -> str:
    """Return the units of the rows, of joints that turn."""
    units = ('N m', 'N m/s', *(f'N m/s^{k}' for k in range(2, order + 1)))
    return ', '.join(units[:order + 1])


def _source(settings: Settings, made: list[Function]) -> Iterator[str]:
    prefix = settings.prefix
    yield from comment(
        f'{MARK}: {settings.robot.name}, see {prefix}.h.\n'
        'q_k_i is q[k][i]; x and a number is an intermediate value.')
    yield from (f'#include "{prefix}.h"', '', '#include <math.h>')
    for function in made:
        yield ''
        yield from function.definition(prefix)
    yield ''
    yield f'#ifndef {prefix.upper()}_NO_SELF_TEST'
    yield from _self_test(settings, made)
    yield '#endif'


def _self_test(settings: Settings, made: list[Function]) -> Iterator[str]:
    prefix, upper, given = settings.prefix, settings.prefix.upper(), samples(settings)
    language, names = Language(single=settings.single), {function.name for function in made}
    number, order = language.type, settings.order
    absolute = language.function('fabs')
    yield from (
        '',
        *comment('Whether no entry is further off than its row allows.'),
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
    arrays: dict[str, NDArray[np.float64]] = {'q': given.q, 'right_torque': given.torque}
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
                yield from _filled([_rounded(value, language) for value in instant], '},')
            else:
                yield '    {'
                for row in instant:
                    yield from (f'    {line}' for line in _filled(
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
    given = ['q[t]', *(['gravity[t]'] if settings.gravity_argument else ()),
             *(['&payload[t]'] if settings.payload_link is not None else ()), 'torque']
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
    """Return a number to 12 digits: machines differ in the last ones."""
    return language.number(float(f'{value:.{_DIGITS}g}'))


def _filled(items: Sequence[str], end: str = '}') -> list[str]:
    """Return the lines of an initializer, broken between items alone."""
    lines, line = [], '   '
    for i, item in enumerate(items):
        word = ('' if i else '{') + item + (',' if i < len(items) - 1 else end)
        if len(line) + len(word) > MAX_LINE - 12:
            lines.append(line)
            line = '       '
        line += f' {word}'
    return [*lines, line]


def _names(macro: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the macro of an initializer of strings."""
    lines = _filled([quoted(name) for name in names])
    yield f'#define {macro} \\'
    yield from (f'{line} \\' for line in lines[:-1])
    yield lines[-1]


def _ended(lines: list[str], end: str) -> list[str]:
    return [*lines[:-1], lines[-1] + end]


def _cmake(settings: Settings) -> Iterator[str]:
    prefix = settings.prefix
    project = package_name(prefix)
    yield f'# {MARK}: the library {prefix}, for CMake and for ament.'
    yield from f"""\
cmake_minimum_required(VERSION 3.14)
project({project} VERSION {_cmake_version()} LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)  # without it the code is ten times slower
endif()

add_library({prefix} {prefix}.c {prefix}.h)
set_target_properties({prefix} PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
  WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_include_directories({prefix} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}> $<INSTALL_INTERFACE:include/${{PROJECT_NAME}}>)
if(NOT MSVC)
  target_link_libraries({prefix} PUBLIC m)
endif()

install(FILES {prefix}.h DESTINATION include/${{PROJECT_NAME}})
install(TARGETS {prefix} EXPORT ${{PROJECT_NAME}}Targets
  ARCHIVE DESTINATION lib LIBRARY DESTINATION lib RUNTIME DESTINATION bin)

find_package(ament_cmake QUIET)
# As a subfolder it is a part of the package around it.
if(ament_cmake_FOUND AND CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  ament_export_targets(${{PROJECT_NAME}}Targets HAS_LIBRARY_TARGET)
  ament_package()
else()
  install(EXPORT ${{PROJECT_NAME}}Targets NAMESPACE ${{PROJECT_NAME}}::
    DESTINATION lib/cmake/${{PROJECT_NAME}} FILE ${{PROJECT_NAME}}Config.cmake)
endif()""".splitlines()


def package_name(prefix: str) -> str:
    """Return the name for ROS and CMake, which ROS wants in lower case."""
    return re.sub('_+', '_', prefix.lower()).strip('_')


def _cmake_version() -> str:
    return version() if re.fullmatch(r'\d+(\.\d+){0,3}', version()) else '0.0.0'


def _package(settings: Settings) -> Iterator[str]:
    name = escape(''.join(c if c.isprintable() else ' ' for c in settings.robot.name))
    numbers = [*_cmake_version().split('.'), '0', '0'][:3]
    yield '<?xml version="1.0"?>'
    yield f'<!-- {MARK}. -->'
    yield from f"""\
<package format="3">
  <name>{package_name(settings.prefix)}</name>
  <version>{'.'.join(numbers)}</version>
  <description>Inverse dynamics of {name} to order {settings.order}, in C.</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>""".splitlines()
