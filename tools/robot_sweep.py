"""Every robot file of a folder: it loads and agrees with another library, or is refused in a line.

``python tools/robot_sweep.py FOLDER`` loads each .urdf, and compares its torques with
Pinocchio's, and each .xml that is MJCF, with MuJoCo's. Exits 1 where one hangs (no answer in 5 s),
crashes or disagrees.
"""
import argparse
from collections import Counter
from pathlib import Path
import sys

from robot_judges import judged_by_mujoco, judged_by_pinocchio
from timed_answers import answers

import hodyn_ros as hd
from hodyn_ros.robot.files.xml_elements import first_tag


def is_whole_mjcf(path):
    """Return whether it is a model by itself, and no part of one."""
    text = path.read_text('utf-8', 'replace')
    return first_tag(text) == 'mujoco' and '<worldbody' in text


def judge(path, robot):
    return (judged_by_pinocchio if path.suffix == '.urdf' else judged_by_mujoco)(path, robot)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--inertia-check', choices=['error', 'warn'])
    parser.add_argument('--seconds', type=float, default=5.0, help='that a file may take')
    options = parser.parse_args(arguments)
    files = sorted(options.folder.rglob('*.urdf')) + [
        path for path in sorted(options.folder.rglob('*.xml')) if is_whole_mjcf(path)]
    # Compiled kernels are the worker's from the start.
    for robot in map(hd.load_robot, ('twolink', 'panda', 'aerial_manipulator')):
        if not robot.floating:
            hd.inverse_dynamics(robot, [[0.0] * robot.n] * 5)
    counts = Counter()
    for answer in answers(
            files, lambda path: hd.load_robot(path, inertia_check=options.inertia_check), judge,
            options.seconds):
        kind = 'not judged' if answer.said.startswith('not judged') else answer.kind
        counts[kind] += 1
        warned = f' ({len(answer.warned)} warnings)' if answer.warned else ''
        print(f'{kind:10} {answer.seconds:6.2f} s  {answer.thing.relative_to(options.folder)}: '
              f'{answer.said.replace(str(options.folder), "…")}{warned}', flush=True)
    print(f'{len(files)} files:', ', '.join(f'{count} {kind}' for kind, count in counts.items()))
    return int(any(counts[kind] for kind in ('hang', 'crash', 'wrong')))


if __name__ == '__main__':
    sys.exit(main())
