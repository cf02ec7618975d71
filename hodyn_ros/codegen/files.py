"""The files of the generated code: header, source, CMakeLists.txt and package.xml."""
from __future__ import annotations

from collections.abc import Iterator

from hodyn_ros.actuators.motor_side import MEMORY
from hodyn_ros.codegen.build_files import cmake, package
from hodyn_ros.codegen.c_text import Language, comment, initializer, quoted
from hodyn_ros.codegen.functions import Function, arguments_of_torque, functions, rows
from hodyn_ros.codegen.origin import MARK, fingerprint
from hodyn_ros.codegen.self_test import VECTORS
from hodyn_ros.codegen.self_test_text import self_test_text
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.codegen.table_search import table_text
from hodyn_ros.common.version import VERSION

_WITHOUT_FAST_MATH = (
    '#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || \\',
    '    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)',
    '#error "-ffast-math, -Ofast and /fp:fast remove the checks for finite values: leave it out"',
    '#endif')
"""Lines that refuse flags by which the functions of the motors hand on NaN."""


def file_names(prefix: str) -> tuple[str, str, str, str]:
    """Return the names of the files."""
    return f'{prefix}.h', f'{prefix}.c', 'CMakeLists.txt', 'package.xml'


def files(settings: Settings, made: list[Function] | None = None) -> dict[str, str]:
    """Return the texts of all files by name; the same settings always give the same bytes."""
    made = functions(settings) if made is None else made
    texts = (
        _header(settings, made), _source(settings, made), cmake(settings), package(settings))
    return {
        name: '\n'.join(line.rstrip() for line in lines) + '\n'
        for name, lines in zip(file_names(settings.prefix), texts, strict=True)}


def _header(settings: Settings, made: list[Function]) -> Iterator[str]:
    robot, prefix, upper = settings.robot, settings.prefix, settings.prefix.upper()
    language = Language(single=settings.single)
    yield from comment(_about(settings))
    yield from (f'#ifndef {upper}_H', f'#define {upper}_H', '')
    yield from comment(f'hodyn_ros {VERSION}; hash of the robot file that hd.save_robot writes.')
    yield f'#define {upper}_GENERATOR_VERSION {quoted(VERSION)}'
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
        f'Casts arrays that are not const to const, as C before C23 requires (gcc -Wpedantic '
        f'warns): {upper}_CONST(q).')
    yield f'#define {upper}_CONST(rows) ((const {language.type} (*)[{upper}_JOINTS])(rows))'
    if robot.floating:
        yield f'#define {upper}_CONST_POSE(rows) ((const {language.type} (*)[4])(rows))'
        yield f'#define {upper}_CONST_TWIST(rows) ((const {language.type} (*)[6])(rows))'
    yield from ('', '#ifdef __cplusplus', 'extern "C" {', '#endif', '')
    if settings.payload_link is not None:
        yield from comment(
            f'The payload of {settings.payload_link}, in the axes of this link; all 0 if none.')
        yield 'typedef struct {'
        yield f'    {language.type} mass;       /* kg */'
        yield f'    {language.type} com[3];     /* centre of mass, m */'
        yield f'    {language.type} inertia[6]; /* xx yy zz xy xz yz about it, kg m^2 */'
        yield f'}} {prefix}_payload;'
        yield ''
    if settings.has_dampers:
        yield from comment(
            'State of the dampers from one instant to the next; motor_start initializes it.')
        yield 'typedef struct {'
        yield f'    {language.type} memory[{MEMORY}][{upper}_JOINTS];'
        yield f'}} {prefix}_motor_state;'
        yield ''
    for function in made:
        yield from comment(f'{function.about}\n{function.operations} operations at most.')
        yield from _ended(function.signature(prefix), ';')
        yield ''
    yield from (f'#ifndef {upper}_NO_SELF_TEST', *comment(
        f'Returns 0 if all functions agree with hodyn_ros at {VECTORS} random instants, '
        'otherwise the number, from 1, of the first instant with a wrong result. Define '
        f'{upper}_NO_SELF_TEST to leave out this function and its tables.'),
        f'int {prefix}_self_test(void);', '#endif', '')
    yield from ('#ifdef __cplusplus', '}', '#endif', '', '#endif')


def _about(settings: Settings) -> str:
    """Return the introduction of the header."""
    robot = settings.robot
    kinds = [body.type for body in robot.joint_bodies]
    width = max(len(name) for name in robot.joint_names)
    joints = '\n'.join(
        f'  [{i}] {name:{width}}  {kind}, {"m and N" if kind == "prismatic" else "rad and N m"}'
        for i, (name, kind) in enumerate(zip(robot.joint_names, kinds, strict=True)))
    coupled = ', '.join(
        f'{body.joint} = {body.mimic.multiplier:g} * {body.mimic.joint} + {body.mimic.offset:g}'
        for body in robot.bodies if body.mimic is not None)
    if coupled:
        joints += f'\nJoints that follow these and are in no array: {coupled}.'
    upper = settings.prefix.upper()
    declared = arguments_of_torque(settings)
    values = {
        'q': ' = {{0}}', 'base_twist': ' = {{0}}',
        'base_pose': ' = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}'}
    passed = {
        'q': f'{upper}_CONST(q)', 'base_pose': f'{upper}_CONST_POSE(base_pose)',
        'base_twist': f'{upper}_CONST_TWIST(base_twist)', 'payload': '&payload'}
    use = ''.join(
        f'  {declaration.removeprefix("const ")}{values.get(name, "")};\n'
        for name, declaration in declared.items() if name not in ('gravity', 'payload'))
    use += (f'  {settings.prefix}_inverse_dynamics('
            f'{", ".join(passed.get(name, name) for name in declared)});')
    axes = 'world axes' if robot.floating else 'the axes that the robot file puts its base in'
    weight = (
        f'Gravity is an argument: the acceleration vector in {axes}, m/s^2, (0, 0, -9.81) if z '
        'points up.' if settings.gravity_argument else
        'Gravity is ({:g}, {:g}, {:g}) m/s^2'.format(*robot.gravity) + f' in {axes}.')
    left_out = ', '.join(settings.left_out)
    missing = f'\nNot in this code: {left_out} of the robot file.' if left_out else ''
    return (
        f'{MARK}: dynamics of {robot.name} to order {settings.order}.\n\n'
        f'{use}\n\n'
        'Joints, in the order of all arrays, with zeros and directions of the robot file:\n'
        f'{joints}\n\n'
        f'A row has one entry per joint, and each row is the time derivative of the row before, '
        f'in SI units: q {rows(settings.order + 3)}; torque {_torque_rows(settings.order)}. '
        f'{weight}{missing}\n\n{_about_base(settings)}'
        'No function allocates, has static state, or needs more than math.h; each may run on any '
        'thread. The rigid-body functions have no loops and no branches, so they take the same '
        'time for all values. Only the motor functions check that values are finite '
        '(with them, the code does not compile with -ffast-math). Pass only finite values to the '
        'other functions: otherwise their results may look valid. Results must not overlap '
        'arguments.')


def _about_base(settings: Settings) -> str:
    """Return a paragraph with the conventions of a floating base, or nothing for a fixed one."""
    robot = settings.robot
    return '' if not robot.floating else (
        f'The base is {robot.bodies[0].name}. base_pose is [R p; 0 1], its rotation and origin in '
        'the world, by rows (the last is not read). base_twist has a row for each derivative of '
        "the spatial twist: angular velocity, then the velocity of the base's point at the world "
        'origin, in world axes. base_wrench is the wrench that must act on the base: moment about '
        'the world origin, then force, in world axes, N m and N, and its derivatives.\n\n')


def _torque_rows(order: int) -> str:
    """Return the units of the rows of torques, for joints that turn."""
    units = ('N m', 'N m/s', *(f'N m/s^{k}' for k in range(2, order + 1)))
    return ', '.join(units[:order + 1])


def _source(settings: Settings, made: list[Function]) -> Iterator[str]:
    prefix = settings.prefix
    yield from comment(
        f'{MARK}: {settings.robot.name}, see {prefix}.h.\n'
        'q_k_i is q[k][i]; x with a number is an intermediate value.')
    yield from (f'#include "{prefix}.h"', '', '#include <math.h>')
    if settings.actuators:
        yield from ('', *_WITHOUT_FAST_MATH)
        yield from table_text(
            settings.robot.require_actuators(), Language(single=settings.single))
    for function in made:
        yield ''
        yield from function.definition(prefix)
    yield ''
    yield f'#ifndef {prefix.upper()}_NO_SELF_TEST'
    yield from self_test_text(settings, made)
    yield '#endif'


def _names(macro: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a macro that initializes an array of strings."""
    lines = initializer([quoted(name) for name in names])
    yield f'#define {macro} \\'
    yield from (f'{line} \\' for line in lines[:-1])
    yield lines[-1]


def _ended(lines: list[str], end: str) -> list[str]:
    return [*lines[:-1], lines[-1] + end]
