"""Around the generated code: CMakeLists.txt, package.xml, the self-test's macro."""
import ctypes
import re
import shutil
import subprocess
from xml.etree import ElementTree

from compiled_c import CC, compiled
import pytest

import hodyn_ros as hd
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.settings import Settings

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
        printed = subprocess.run(
            ['cmake', '-S', source, '-B', build, f'-Dament_cmake_DIR={tmp_path / "ament"}'],
            capture_output=True, text=True, check=True, timeout=60).stdout
        return re.findall(r'package (\w+) ends', printed)

    assert ended(tmp_path / 'arm', tmp_path / 'alone') == ['arm']
    assert ended(tmp_path, tmp_path / 'within') == ['around']
    subprocess.run(
        ['cmake', '--build', tmp_path / 'within'], capture_output=True, check=True, timeout=60)
    subprocess.run([tmp_path / 'within' / 'user'], check=True, timeout=60)


@pytest.mark.skipif(CC is None, reason='no C compiler here')
def test_the_self_test_can_be_left_out(tmp_path):
    code = compiled(
        tmp_path, TWOLINK, order=0, flags=('-O0', '-DTWOLINK_NO_SELF_TEST'))
    library = ctypes.CDLL(str(code.library))
    assert hasattr(library, 'twolink_inverse_dynamics')
    assert not hasattr(library, 'twolink_self_test')


def test_ros_reads_the_package_whatever_the_robot_is_called():
    robot = hd.load_robot({
        'name': 'R2 <&">\x07 --> №1', 'bodies': [{
            'name': 'a', 'parent': -1, 'type': 'prismatic', 'axis': [0, 0, 1], 'mass': 1.0,
            'placement': [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            'com': [0, 0, 0], 'inertia': [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}]})
    package = ElementTree.fromstring(files(Settings(robot, 'My__Arm', order=0))['package.xml'])
    assert (package.tag, package.attrib) == ('package', {'format': '3'})
    assert package.findtext('name') == 'my_arm'
    assert re.fullmatch(r'\d+\.\d+\.\d+', package.findtext('version'))
    assert 'R2 <&">  --> №1' in package.findtext('description')
    assert package.findtext('export/build_type') == 'ament_cmake'
