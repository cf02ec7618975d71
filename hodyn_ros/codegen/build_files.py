"""CMakeLists.txt and package.xml of the generated code."""
from __future__ import annotations

from collections.abc import Iterator
import re
from xml.sax.saxutils import escape

from hodyn_ros.codegen.origin import MARK
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.common.version import VERSION


def cmake(settings: Settings) -> Iterator[str]:
    """Yield the lines of CMakeLists.txt."""
    prefix = settings.prefix
    project = package_name(prefix)
    yield f'# {MARK}: the library {prefix}, for CMake and for ament.'
    yield from f"""\
cmake_minimum_required(VERSION 3.14)
project({project} VERSION {package_version()} LANGUAGES C)

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
# In a subfolder the library is part of the surrounding package.
if(ament_cmake_FOUND AND CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  ament_export_targets(${{PROJECT_NAME}}Targets HAS_LIBRARY_TARGET)
  ament_package()
else()
  install(EXPORT ${{PROJECT_NAME}}Targets NAMESPACE ${{PROJECT_NAME}}::
    DESTINATION lib/cmake/${{PROJECT_NAME}} FILE ${{PROJECT_NAME}}Config.cmake)
endif()""".splitlines()


def package_name(prefix: str) -> str:
    """Return the name for ROS and CMake, in lower case as ROS requires."""
    return re.sub('_+', '_', prefix.lower()).strip('_')


def package_version() -> str:
    """Return the version in three numbers, for CMake and package.xml."""
    return '.'.join([*re.findall(r'\d+', VERSION), '0', '0', '0'][:3])


def package(settings: Settings) -> Iterator[str]:
    """Yield the lines of package.xml."""
    name = escape(''.join(c if c.isprintable() else ' ' for c in settings.robot.name))
    yield '<?xml version="1.0"?>'
    yield f'<!-- {MARK}. -->'
    yield from f"""\
<package format="3">
  <name>{package_name(settings.prefix)}</name>
  <version>{package_version()}</version>
  <description>Inverse dynamics of {name} to order {settings.order}, in C.</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>""".splitlines()
