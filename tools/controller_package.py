"""The package of ros2_control of a robot, compiled with what stands in for ROS."""
from dataclasses import dataclass
from pathlib import Path
import re
import subprocess

from compiled_c import CC, CXX, compile_with
import numpy as np
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.codegen.ros2_control import generate_ros2_control

SOURCES = Path(__file__).parents[1] / 'test' / 'codegen' / 'ros2_control'
STRICT = ('-std=c++17', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror')
TYPES = {'bool': 'bool', 'double': 'double', 'int': 'std::int64_t', 'string': 'std::string',
         'double_array': 'std::vector<double>', 'string_array': 'std::vector<std::string>'}
needs_compilers = [
    pytest.mark.slow,
    pytest.mark.skipif(CC is None or CXX is None, reason='no compiler of C and C++ here')]


@dataclass
class Program:
    """A program around the package of a robot."""

    robot: hd.Robot
    path: Path

    def run(self, *lines):
        """Return the lines that it prints."""
        return subprocess.run(
            [self.path], input='\n'.join(lines), capture_output=True, text=True, check=True,
            timeout=60).stdout.splitlines()

    def cycles(self, *lines):
        """Return modes (T,), motions (T, 5, n), feed-forward (T, 3, n), torques (T, n), motors."""
        rows = np.array([line.split() for line in self.run(*lines)], float)
        n = self.robot.n
        parts = np.split(rows[:, 1:], [5 * n, 8 * n, 9 * n], axis=1)
        return (rows[:, 0], parts[0].reshape(-1, 5, n), parts[1].reshape(-1, 3, n), parts[2],
                parts[3].reshape(len(rows), 4, -1))


def built(robot, name, folder, *options):
    """Return a program of `test/codegen/ros2_control`, compiled with a robot's package."""
    generate_ros2_control(robot, folder, force=True)
    package, = (folder / 'include').iterdir()
    code, = (folder / 'src').glob('*.c')
    parameters(folder, package)
    source = folder / f'{name}.cc'
    source.write_text((SOURCES / f'{name}.cpp').read_text().replace('@package@', package.name))
    program = folder / name
    if name == 'manager':
        options = (*options, str(folder / 'src' / 'feedforward_controller.cpp'))
        headers = re.findall(r'#include "(.*)"', ''.join(
            path.read_text() for path in (
                package / 'feedforward_controller.hpp',
                folder / 'src' / 'feedforward_controller.cpp')))
        for header in headers:
            path = folder / 'include' / header
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text('#include "stand_in.hpp"\n')
    compile_with(
        CC, '-std=c99', '-O1', '-c', '-I', folder / 'include', code, '-o', folder / 'arm.o')
    compile_with(
        CXX, *STRICT, '-I', folder / 'include', '-I', SOURCES, source, *options, folder / 'arm.o',
        '-o', program, '-lm')
    return Program(robot, program)


def parameters(folder, package):
    """Write what generate_parameter_library makes of the parameters, as far as it is used."""
    keys = yaml.safe_load((folder / 'src' / 'parameters.yaml').read_text())[package.name]
    fields = ''.join(
        f'  {TYPES[one["type"]]} {name} = {literal(one["default_value"])};\n'
        for name, one in keys.items())
    lists = ''.join(
        f'    if (name == "{name}") {{{name} = numbers;}}\n'
        for name, one in keys.items() if one['type'] == 'double_array')
    scalars = ''.join(
        f'    if (name == "{name}") {{{name} = numbers.at(0);}}\n'
        for name, one in keys.items() if one['type'] in ('bool', 'double'))
    (package / 'feedforward_parameters.hpp').write_text(f"""\
#pragma once
#include "stand_in.hpp"
namespace {package.name}
{{
struct Params
{{
{fields}
  void set(const std::string & name, const std::vector<double> & numbers)
  {{
{lists}{scalars}  }}
}};
inline Params chosen;
struct ParamListener
{{
  explicit ParamListener(std::shared_ptr<StandInNode>) {{}}
  Params get_params() const {{return chosen;}}
}};
}}
""")


def literal(value):
    """Return a default value in C++."""
    if isinstance(value, list):
        return '{' + ', '.join(map(literal, value)) + '}'
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower()


def points(times, positions, names=()):
    """Return a trajectory as the rest of a line."""
    return ' '.join([str(len(times)), *names, *(
        numbers(time, row) for time, row in zip(times, positions, strict=True))])


def numbers(*values):
    """Return arrays as one line of numbers."""
    return ' '.join(repr(float(x)) for value in values for x in np.ravel(value))
