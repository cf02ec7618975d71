"""Which part of the package may import which: downward only, and no more than is needed."""
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
import re

from imports import imported, modules

import hodyn_ros

PACKAGE = Path(hodyn_ros.__file__).parent
MODULES = modules(PACKAGE)

# A room is a folder, or a file, at the top of the package. From the bottom upward.
MAY_IMPORT = {
    'common': set(),
    'messages': {'common'},
    'limits': {'common'},
    'reference': {'common', 'limits'},
    'actuators': {'common'},
    'robot': {'common', 'actuators', 'limits'},
    'dynamics': {'common', 'robot'},
    '__init__': {'common', 'robot', 'dynamics', 'reference', 'feedforward', 'plans', 'codegen'},
    'feedforward': {'common', 'limits', 'robot', 'actuators', 'reference', 'dynamics'},
    'simulation': {'common', 'robot', 'actuators', 'reference', 'dynamics', 'feedforward'},
    'codegen': {'common', 'robot', 'actuators', 'dynamics', 'feedforward'},
    'plans': {'common', 'limits', 'robot', 'reference', 'messages', 'feedforward'},
    'estimation': {'common', 'robot', 'messages'},
    'replay': {'common', 'limits', 'robot', 'messages', 'feedforward', 'estimation'},
    'fleet': {'common', 'robot', 'plans', 'replay'},
    'identification': {
        'common', 'robot', 'actuators', 'dynamics', 'feedforward', 'estimation', 'replay'},
    'ros': {'common', 'robot', 'messages', 'feedforward', 'simulation', 'plans'},
    'cli': {
        'common', 'limits', 'robot', 'feedforward', 'codegen', 'simulation', 'plans',
        'estimation', 'replay', 'fleet', 'identification', 'ros'},
}
MAX_ARROWS = 78
MAX_FLOORS = 9


def room(name):
    """Return the room of a name that begins with the package's; names in the package are its."""
    part = name.split('.')[1] if '.' in name else '__init__'
    if part == '__main__':
        return 'cli'
    return part if (PACKAGE / part).is_dir() else '__init__'


@cache
def arrows():
    """Return {(importing room, imported room): a module that does it and the name it imports}."""
    found = {}
    for module, path in MODULES.items():
        for name in imported(path):
            if name.split('.')[0] == PACKAGE.name:
                found.setdefault((room(module), room(name)), f'{module} imports {name}')
    return {arrow: example for arrow, example in found.items() if arrow[0] != arrow[1]}


def test_each_room_is_in_the_table():
    assert {room(module) for module in MODULES} == set(MAY_IMPORT)


def test_rooms_import_only_what_they_may():
    wrong = [
        example for (above, below), example in arrows().items() if below not in MAY_IMPORT[above]]
    assert not wrong, '\n'.join(wrong)


def test_rooms_import_all_that_they_may():
    table = {(above, below) for above, rooms in MAY_IMPORT.items() for below in rooms}
    assert not table - set(arrows())


def test_no_package_imports_itself_indirectly_and_layers_are_few():
    floors = {}
    for one in TopologicalSorter(MAY_IMPORT).static_order():  # a CycleError names a circle
        floors[one] = 1 + max((floors[below] for below in MAY_IMPORT[one]), default=0)
    assert max(floors.values()) <= MAX_FLOORS, floors


def test_there_are_not_too_many_ways_between_rooms():
    assert len(arrows()) <= MAX_ARROWS


def test_only_one_room_knows_ros():
    ros = re.compile(r'(rclpy|launch|launch_ros|ament_\w+|\w+_(msgs|interfaces))(\.|$)')
    wrong = [
        f'{module} imports {name}' for module, path in MODULES.items()
        for name in imported(path) if ros.match(name) and room(module) != 'ros']
    assert not wrong, '\n'.join(wrong)
