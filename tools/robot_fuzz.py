"""Robot files as nobody writes them: an answer in 5 s, which is right or one line.

``python tools/robot_fuzz.py --files 10000 --seed 1`` makes URDFs, MJCFs and YAML files of
random robots, damages most of them, and loads each. What loads is judged by Pinocchio or MuJoCo.
``--seed N --files 1 --keep FILE`` writes one of them.
"""
import argparse
from collections import Counter
from pathlib import Path
import sys
import tempfile
from xml.etree import ElementTree

import numpy as np
from random_robots import random_mapping
from robot_judges import judged_by_mujoco, judged_by_pinocchio
from timed_answers import answers
import yaml

import hodyn_ros as hd
from hodyn_ros.robot.files import robot_mapping
from hodyn_ros.robot.files.xml_elements import first_tag

NUMBERS = (
    '0', '-1', '1e-3', '1e3', '10mm', '0x10', '1_0', '1,5', 'nan', 'inf', '-inf', '1e400', '1e308',
    '-1e-320', '', ' ', '٣', '1e', '+.5', '1.5.2', '--1', '0 0', '1 2 3', '${pi/2}', 'true',
    'null', '1:30', '2026-01-01', '9' * 400, ' ' * 5000 + '1')
PIECES = (
    '&amp;', '&lt;', '&#48;', '&#x31;', '&lol;', '&#0;', '&', '<', '>', '"', '\0', '\x1b',
    '\ufeff', '\u2028', 'é', '𝒙', ']]>', '<![CDATA[ <link/> ]]>', '<?pi a?>', '<!-- -- -->',
    '<!-- ', '-->', '\r', '\t', '*a', '&a ', '<<: ', '!!python/object:os.system ', '%YAML 9.9\n',
    '---\n', '...\n', '? ', '| ', '"\\x', "'", '#', ': ', '- ', '{', '}', '[', ']')
LARGEST = 6 * 1024 * 1024  # characters, beyond what is read
DOCTYPES = (
    '<!DOCTYPE robot>', '<!DOCTYPE robot [<!ENTITY lol "1">]>',
    '<!DOCTYPE robot SYSTEM "file:///etc/hostname">',
    '<!DOCTYPE r [<!ENTITY a "' + 'x' * 1000 + '">' + ''.join(
        f'<!ENTITY {b} "{f"&{a};" * 50}">' for a, b in zip(
            'abcdef', 'bcdefg', strict=True)) + ']>')
DECLARATIONS = (
    '<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-8"?>', '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="latin-1"?>', '<?xml version="1.0" encoding="UTF-16"?>')


def vector(values):
    return ' '.join(repr(float(value)) for value in np.ravel(values))


def made(seed):
    """Return the text of a file, and its ending."""
    rng = np.random.default_rng(seed)
    make, ending = [(urdf, '.urdf'), (mjcf, '.xml'), (written_yaml, '.yaml')][
        rng.choice(3, p=[0.5, 0.2, 0.3])]
    text = make(rng)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 4]))):
        text = DAMAGES[rng.integers(len(DAMAGES))](rng, text)[:LARGEST]
    return text, ending


def inertial(rng):
    spread = rng.normal(scale=0.1, size=(3, 3))
    covariance = spread @ spread.T
    tensor = np.trace(covariance) * np.eye(3) - covariance
    entries = {
        f'i{"xyz"[i]}{"xyz"[j]}': repr(float(tensor[i, j])) for i in range(3) for j in range(i, 3)}
    element = ElementTree.Element('inertial')
    ElementTree.SubElement(element, 'origin', xyz=vector(rng.normal(scale=0.2, size=3)))
    ElementTree.SubElement(element, 'mass', value=repr(float(rng.uniform(0.1, 3.0))))
    ElementTree.SubElement(element, 'inertia', entries)
    return element


def urdf(rng):
    version = str(rng.choice(['1.0', '1.1', '1.2']))
    root = ElementTree.Element('robot', name='r', version=version)
    ElementTree.SubElement(root, 'link', name='base')
    kinds: list[str] = []
    for i in range(int(rng.integers(1, 10))):
        kind = str(rng.choice(['revolute', 'continuous', 'prismatic', 'fixed']))
        link = ElementTree.SubElement(root, 'link', name=f'l{i}')
        if rng.random() < 0.9:
            link.append(inertial(rng))
        visual = ElementTree.SubElement(link, 'visual')
        ElementTree.SubElement(ElementTree.SubElement(visual, 'geometry'), 'mesh', filename='no')
        joint = ElementTree.SubElement(root, 'joint', name=f'j{i}', type=kind)
        turn = {'rpy': vector(rng.uniform(-3, 3, 3))}
        if version > '1.0' and rng.random() < 0.5:
            quaternion = rng.normal(size=4)
            turn = {'quat_xyzw': vector(quaternion / np.linalg.norm(quaternion))}
        ElementTree.SubElement(joint, 'origin', xyz=vector(rng.normal(size=3)), **turn)
        parent = f'l{rng.integers(i)}' if i and rng.random() < 0.9 else 'base'
        ElementTree.SubElement(joint, 'parent', link=parent)
        ElementTree.SubElement(joint, 'child', link=f'l{i}')
        ElementTree.SubElement(joint, 'axis', xyz=vector(rng.normal(size=3)))
        more = {'acceleration': '7', 'jerk': '90'} if version == '1.2' else {}
        ElementTree.SubElement(
            joint, 'limit', lower='-3', upper='3', velocity='2', effort='50', **more)
        leaders = [k for k, other in enumerate(kinds) if other == kind != 'fixed']
        if leaders and rng.random() < 0.2:
            ElementTree.SubElement(
                joint, 'mimic', joint=f'j{leaders[0]}', multiplier=repr(float(rng.normal())))
        kinds.append(kind)
    ElementTree.indent(root)
    return ElementTree.tostring(root, 'unicode')


MJCF_HEAD = """<mujoco model="made"><compiler angle="radian"/>
  <option gravity="0.3 -1 -9"><flag contact="disable" constraint="disable"/></option>"""


def random_mjcf(rng, bodies, *, free=False, balls=False):
    """Return MJCF of a random tree; some bodies have no joint, some have two or three.

    With `balls`, every second body has a ball joint, and maybe a slide before it.
    """
    children = {i: [] for i in range(-1, bodies)}
    for i in range(bodies):
        children[i - 1 if i == 0 else int(rng.integers(0, i))].append(i)

    def body(i):
        inertia = rng.uniform(0.5, 1.0, 3)
        joints = rng.choice(['', '<joint type="slide"/>']) + (
            f'<joint type="ball" pos="{vector(rng.normal(scale=0.1, size=3))}"/>'
        ) if balls and i % 2 == 0 else '<freejoint/>' if free and i == 0 else ''.join(
            f'<joint type="{rng.choice(["hinge", "slide"])}" axis="{vector(rng.normal(size=3))}" '
            f'pos="{vector(rng.normal(scale=0.1, size=3))}" ref="{rng.normal()}" '
            f'armature="{rng.uniform(0.0, 0.2)}" damping="{rng.uniform(0.0, 2.0)}"/>'
            for _ in range(int(rng.choice([0, 1, 1, 2, 3])) if i else 1))
        return (
            f'<body pos="{vector(rng.normal(scale=0.3, size=3))}" '
            f'quat="{vector(rng.normal(size=4))}">{joints}'
            f'<inertial mass="{rng.uniform(0.5, 3.0)}" pos="{vector(rng.normal(size=3) * 0.1)}" '
            f'quat="{vector(rng.normal(size=4))}" diaginertia="{vector(inertia * 0.02)}"/>'
            + '\n'.join(map(body, children[i])) + '</body>\n')

    return f'{MJCF_HEAD}<worldbody>{body(0)}</worldbody>\n</mujoco>\n'


def mjcf(rng):
    return random_mjcf(
        rng, int(rng.integers(1, 10)), free=rng.random() < 0.1, balls=rng.random() < 0.2)


def written_yaml(rng):
    mapping = random_mapping(rng, int(rng.integers(1, 7)))
    return yaml.safe_dump(
        robot_mapping(hd.load_robot(mapping)), sort_keys=False, default_flow_style=None)


def places(text, letters):
    """Return where one of these stands; the ends of the text too."""
    return [0, len(text), *(i + 1 for i, letter in enumerate(text[:50000]) if letter in letters)]


def with_comments(rng, text):
    comment = str(rng.choice(['<!---->', '<!-- <robot> <mujoco> -->', '<!--= a =-->\n', '# a\n']))
    return _spread(rng, text, comment, int(rng.choice([1, 40, 2000])), '>\n')


def with_pieces(rng, text):
    return _spread(rng, text, str(rng.choice(PIECES)), int(rng.choice([1, 1, 3])), '>\n "=')


def _spread(rng, text, piece, count, letters):
    found = places(text, letters)
    for at in sorted(rng.choice(found, size=count).tolist(), reverse=True):
        text = text[:at] + piece + text[at:]
    return text


def with_a_number(rng, text):
    """Put something else where a number stands."""
    found = [i for i, letter in enumerate(text[:-1]) if letter in '" [' and (
        text[i + 1].isdigit() or text[i + 1] in '-.')]
    if not found:
        return text
    begin = end = found[rng.integers(len(found))] + 1
    while end < len(text) and text[end] not in '" ,]\n':
        end += 1
    return text[:begin] + str(rng.choice(NUMBERS)) + text[end:]


def with_an_attribute(rng, text):
    """Rename, double or add an attribute or key."""
    found = [i for i, letter in enumerate(text[:50000]) if letter in '=:']
    if not found:
        return text
    at = found[rng.integers(len(found))]
    begin = max(text.rfind(letter, 0, at) for letter in ' \n{') + 1
    name = text[begin:at]
    other = str(rng.choice([name + 'x', name[:-1], name.upper(), f'a:{name}', f'x="1" {name}', '',
                            f'{name}="1" {name}', f'{name}: 1\n{name}', 'y' * 100000]))
    return text[:begin] + other + text[at:]


def nested(rng, text):
    depth = int(rng.choice([3, 70, 5000, 200000]))
    begin, end = [('<a>', '</a>'), ('[', ']'), ('{a: ', '}'), ('- ', ''), ('<link name="n">', ''),
                  ('<body>', '</body>')][rng.integers(6)]
    at = sorted(rng.choice(places(text, '>\n'), size=2).tolist())
    return text[:at[0]] + begin * depth + text[at[0]:at[1]] + end * depth + text[at[1]:]


def larger(rng, text):
    at = int(rng.choice(places(text, '>\n ')))
    piece = str(rng.choice(['\n', ' ', 'x', '<link name="x"/>', '<a b="c"/>', '- {}\n', '&#48;']))
    return text[:at] + piece * (int(rng.choice([100, 30000, 3000000])) // len(piece)) + text[at:]


def repeated(rng, text):
    """Repeat a line or a part, as it is or with numbered names."""
    lines = text.splitlines(keepends=True)
    begin = int(rng.integers(len(lines))) if lines else 0
    part = ''.join(lines[begin:begin + int(rng.choice([1, 1, 5, 20]))])[:20000]
    copies = ''.join(part.replace('"l', f'"c{k}l').replace('"j', f'"c{k}j')
                     for k in range(int(rng.choice([1, 10, 300]))))
    return ''.join(lines[:begin]) + part + copies + ''.join(lines[begin:])


def chained(rng, text):
    """Add a chain of many links, or bodies."""
    count = int(rng.choice([30, 300, 3000]))
    mass = ElementTree.tostring(inertial(rng), 'unicode')
    return text.replace('</robot>', ''.join(
        f'<link name="k{k}">{mass}</link><joint name="g{k}" type="{kind}">'
        f'<parent link="{f"k{k - 1}" if k else "base"}"/><child link="k{k}"/></joint>'
        for k, kind in enumerate(rng.choice(['continuous', 'fixed'], size=count))) + '</robot>')


def cut(rng, text):
    at = sorted(rng.integers(0, len(text) + 1, size=2).tolist())
    return [text[:at[0]], text[at[0]:], text[:at[0]] + text[at[1]:]][rng.integers(3)]


def mixed(rng, text):
    """Exchange two lines, or put a part of another file in."""
    lines = text.splitlines(keepends=True) or ['']
    if rng.random() < 0.5:
        i, j = rng.integers(len(lines), size=2)
        lines[i], lines[j] = lines[j], lines[i]
        return ''.join(lines)
    lines.insert(int(rng.integers(len(lines))), [urdf, mjcf, written_yaml][rng.integers(3)](rng))
    return ''.join(lines)


def headed(rng, text):
    return str(rng.choice([*DOCTYPES, *DECLARATIONS, '\ufeff', '\n\n', '\0'])) + text


DAMAGES = (
    with_comments, with_pieces, with_a_number, with_a_number, with_an_attribute, nested, larger,
    repeated, chained, cut, mixed, headed)


class Fuzz:
    """Loads and judges the files of seeds, in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def path(self, seed):
        text, ending = made(seed)
        path = self.folder / f'robot{ending}'
        path.write_bytes(text.encode('utf-8', 'surrogatepass'))
        return path

    def load(self, seed):
        path = self.path(seed)
        return path, hd.load_robot(path)

    def judge(self, _, loaded):
        path, robot = loaded
        poses = [body.placement for body in robot.bodies]
        if robot.n > 500 or max(np.abs([[body.com, pose[:3, 3], body.point] for body, pose in zip(
                robot.bodies, poses, strict=True)]).max(), 0.0) > 1e4:
            return 'not judged: too large'
        zero = [body.mass for body in robot.bodies]
        if max(zero) > 1e6 or any(body.type == 'helical' for body in robot.bodies):
            return 'not judged: no word for it there'
        if first_tag(path.read_text('utf-8', 'replace')) == 'mujoco':
            return judged_by_mujoco(path, robot)
        if path.suffix == '.yaml':
            path = path.with_suffix('.urdf')
            hd.save_robot(robot, path, force=True)
        return judged_by_pinocchio(path, robot)


def fuzz(seeds, folder, seconds=5.0):
    """Yield the answer of each seed."""
    work = Fuzz(folder)
    for robot in map(hd.load_robot, ('twolink', 'panda')):  # kernels are the worker's then
        hd.inverse_dynamics(robot, np.zeros((5, robot.n)))
        hd.inverse_dynamics(robot, np.zeros((3, robot.n)))
    yield from answers(seeds, work.load, work.judge, seconds)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--files', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1, help='of the first file')
    parser.add_argument('--keep', type=Path, metavar='FILE', help='write the first one here')
    options = parser.parse_args(arguments)
    if options.keep:
        options.keep.write_text(made(options.seed)[0], 'utf-8', 'surrogatepass')
    counts, slowest = Counter(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for answer in fuzz(range(options.seed, options.seed + options.files), folder):
            kind = 'not judged' if answer.said.startswith('not judged') else answer.kind
            counts[kind] += 1
            slowest = max(slowest, answer.seconds)
            if kind in ('wrong', 'crash', 'hang') or options.files == 1:
                print(f'{kind:7} {answer.seconds:5.2f} s  seed {answer.thing}: '
                      f'{answer.said[:500]}', flush=True)
    print(f'{options.files} files, {slowest:.2f} s at most:', ', '.join(
        f'{count} {kind}' for kind, count in counts.items()))
    return int(any(counts[kind] for kind in ('hang', 'crash', 'wrong')))


if __name__ == '__main__':
    sys.exit(main())
