"""Around the generated code: CMake, package.xml, the self-test's macro, and the examples in C."""
import ctypes
from pathlib import Path
import re
import shutil
import subprocess
from xml.etree import ElementTree

from compiled_c import CC, compiled, needs_compiler, printed
import numpy as np
import pytest
from rigid_bodies import link

import hodyn_ros as hd
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.settings import Settings

EXAMPLES = Path(__file__).parents[2] / 'examples' / 'c'
TWOLINK = hd.load_robot('twolink')
AMENT = """\
macro(ament_export_targets)
endmacro()
macro(ament_package)
  message(STATUS "package ${PROJECT_NAME} ends")
endmacro()
"""
AROUND = """\
cmake_minimum_required(VERSION 3.14)
project(around LANGUAGES C)
find_package(ament_cmake REQUIRED)
add_subdirectory(arm)
add_executable(user user.c)
target_link_libraries(user arm)
ament_package()
"""


@pytest.mark.skipif(CC is None or shutil.which('cmake') is None, reason='no C compiler or CMake')
def test_cmake_builds_it_alone_and_within_a_package(tmp_path):
    """A subfolder that ended its package left half of the package around it out."""
    hd.generate_c(TWOLINK, tmp_path / 'arm', prefix='arm', order=0)
    (tmp_path / 'ament').mkdir()
    (tmp_path / 'ament' / 'ament_cmakeConfig.cmake').write_text(AMENT)
    (tmp_path / 'CMakeLists.txt').write_text(AROUND)
    (tmp_path / 'user.c').write_text(
        '#include "arm.h"\nint main(void) { return arm_self_test(); }\n')

    def ended(source, build):
        text = subprocess.run(
            ['cmake', '-S', source, '-B', build, f'-Dament_cmake_DIR={tmp_path / "ament"}'],
            capture_output=True, text=True, check=True, timeout=60).stdout
        return re.findall(r'package (\w+) ends', text)

    assert ended(tmp_path / 'arm', tmp_path / 'alone') == ['arm']
    assert ended(tmp_path, tmp_path / 'within') == ['around']
    subprocess.run(
        ['cmake', '--build', tmp_path / 'within'], capture_output=True, check=True, timeout=60)
    subprocess.run([tmp_path / 'within' / 'user'], check=True, timeout=60)


@needs_compiler
def test_the_self_test_can_be_left_out(tmp_path):
    code = compiled(
        tmp_path, TWOLINK, order=0, flags=('-O0', '-DTWOLINK_NO_SELF_TEST'))
    library = ctypes.CDLL(str(code.library))
    assert hasattr(library, 'twolink_inverse_dynamics')
    assert not hasattr(library, 'twolink_self_test')


def test_ros_reads_the_package_whatever_the_robot_is_called():
    robot = hd.load_robot({'name': 'R2 <&">\x07 --> №1', 'bodies': [link('a')]})
    package = ElementTree.fromstring(files(Settings(robot, 'My__Arm', order=0))['package.xml'])
    assert (package.tag, package.attrib) == ('package', {'format': '3'})
    assert package.findtext('name') == 'my_arm'
    assert re.fullmatch(r'\d+\.\d+\.\d+', package.findtext('version'))
    assert 'R2 <&">  --> №1' in package.findtext('description')
    assert package.findtext('export/build_type') == 'ament_cmake'


@pytest.fixture
def built(tmp_path):
    """Return a function that compiles sources with generated code of twolink, and runs them."""
    folder = tmp_path / 'arm'
    hd.generate_c(TWOLINK, folder, prefix='arm', single_precision=True, gravity_argument=True)
    return lambda *sources: printed(
        tmp_path / 'program', *sources, folder / 'arm.c',
        flags=['-Wdouble-promotion', '-O1', '-I', folder, '-I', EXAMPLES])


@needs_compiler
def test_the_loop_goes_to_its_goal_and_rests_when_messages_cease_in_motion(built):
    loop = EXAMPLES / 'microcontroller'
    text = built(loop / 'main.c', loop / 'board_simulated.c')
    error, jump, speed = map(float, re.findall(r'\d+\.\d+(?:e[+-]\d+)?', text))
    assert error < 1e-3
    assert jump <= 1.001  # N m in a millisecond, of 1000 N m/s; the weight comes in by it
    assert speed < 1e-3


@needs_compiler
def test_what_is_not_finite_ends_the_loop_and_leaves_the_command(built, tmp_path):
    program = tmp_path / 'guard.c'
    program.write_text("""\
#define REAL float
#include "guarded_torque.h"
#include <stdio.h>
int main(void)
{
    guarded_torque guard = {{0, -9.81f, 0}, {100, 100}, {1, 1}, {50, 0.5f}, {1e3f, 1e3f},
                            0.1f, 0.05f, {0, 0}, 0, 0, 0};
    const float start[2] = {3, 0}, still[2] = {0, 0}, wrong[2] = {0, NAN};
    const float reference[5][2] = {{0}}, unreal[5][2] = {{INFINITY}};
    int i;
    guarded_torque_start(&guard, start);
    for (i = 0; i < 40; ++i) {
        printf("%d ", guarded_torque_step(&guard, 0.001f, still, still, reference));
    }
    printf("| %g %g %d ", (double)guard.torque[0], (double)guard.torque[1], guard.expired);
    printf("| %d", guarded_torque_step(&guard, 0.001f, wrong, still, reference));
    printf("%d", guarded_torque_step(&guard, 0.001f, still, wrong, reference));
    printf("%d ", guarded_torque_step(&guard, 0.001f, still, still, unreal));
    printf("| %g %g ", (double)guard.torque[0], (double)guard.torque[1]);
    for (i = 0; i < 40; ++i) {
        guarded_torque_step(&guard, 0.001f, still, still, reference);
    }
    guarded_torque_alive(&guard);
    guarded_torque_step(&guard, 0.001f, still, still, reference);
    printf("| %d", guard.expired);
    guarded_torque_start(&guard, wrong);
    printf("| %d", guarded_torque_step(&guard, 0.001f, still, still, reference));
    printf(" %g", (double)guard.torque[0]);
    return 0;
}
""")
    steps, command, wrong, left, expired, started = built(program).split('|')
    assert set(steps.split()) == {'1'}
    first, second, early = map(float, command.split())
    weight = hd.inverse_dynamics(TWOLINK, np.zeros((3, 2)))[0]
    assert first == pytest.approx(weight[0], rel=1e-5)
    assert second == 0.5 < weight[1]
    assert not early
    assert wrong.strip() == '000'
    assert tuple(map(float, left.split())) == (first, second)
    assert expired.strip() == '1'  # and stays so, whatever is heard later
    assert started.split() == ['0', '0']  # a torque that was never measured is not gone on from


@pytest.mark.skipif(shutil.which('make') is None, reason='no make here')
@needs_compiler
def test_another_robot_gets_code_of_its_own(tmp_path):
    folder = tmp_path / 'microcontroller'
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / 'hodyn').write_text(
        'for folder; do :; done\nmkdir -p "$folder" && touch "$folder/arm.c"\n')

    def make(*arguments):
        return subprocess.run(
            ['make', '-C', folder, 'HODYN=sh ../hodyn', 'CC=true', *arguments],
            capture_output=True, text=True, timeout=60).stdout

    assert '--robot twolink' in make('run')
    assert '--robot' not in make('--dry-run', 'size')
    assert '--robot panda' in make('--dry-run', 'size', 'ROBOT=panda')
    assert '--robot ../my.yaml' in make('--dry-run', 'size', 'ROBOT=../my.yaml')
