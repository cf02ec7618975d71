"""Compute the reference numbers of the serial arms again, from the parameters beside them.

Without arguments it says whether the files agree; with ``--write`` it writes them. Nothing of
`hodyn_ros` is used.
"""
import argparse
import copy
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from virtual_power import VirtualPower

FOLDER = Path(__file__).parents[1] / 'test' / 'data' / 'reference'
FILES = (
    'twolink_2r.json', 'iiwa14_second_order.json', 'panda_second_order.json',
    'panda_nth_order.json')


def model(name, gravity=True):
    """Return a robot of a parameter file; inertias about the COM."""
    data = json.loads((FOLDER / name).read_text('utf-8'))
    bodies = []
    for entry in data['bodies']:
        body = SimpleNamespace(**entry)
        if body.inertia_about == 'origin':
            com = np.array(body.com, dtype=float)
            body.inertia = np.array(body.inertia) - body.mass * (
                com @ com * np.eye(3) - np.outer(com, com))
        bodies.append(body)
    return SimpleNamespace(
        bodies=bodies, n=len(bodies), floating=False,
        gravity=data['gravity'] if gravity else [0, 0, 0])


def expected(file, case):
    """Return the efforts of one case, as its file has them."""
    if 'W' not in case:
        q = [case['q'], *(case[f'q{k}'] for k in range(1, file['max_order'] + 3))]
        return {
            kind: VirtualPower(model(file['model'], kind == 'gravity'), q).derivatives(
                file['max_order']).tolist()
            for kind in ('no_gravity', 'gravity')}
    robot = model(file['model'])
    q = [case[key] for key in ('q', 'q1', 'q2', 'q3', 'q4')]
    wrenches = np.zeros((3, robot.n, 6))
    # The files give what the last body exerts on the environment.
    wrenches[:, -1] = -np.array([case[key] for key in ('W', 'W1', 'W2')])
    return {
        kind: dict(zip(
            ('Q', 'Q1', 'Q2'),
            VirtualPower(robot, q, wrenches=applied).derivatives().tolist(), strict=True))
        for kind, applied in (('no_wrench', None), ('wrench', wrenches))}


def main():
    """Compute, compare and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='write the files')
    write = parser.parse_args().write
    different = []
    for name in FILES:
        path = FOLDER / name
        file = json.loads(path.read_text('utf-8'))
        computed = copy.deepcopy(file)
        for case in computed['cases']:
            case['expected'] = expected(file, case)
        if computed != file:
            different.append(name)
        print(f'{name}: {len(file["cases"])} cases', 'differ' if computed != file else 'agree')
        if write:
            path.write_text(json.dumps(computed, indent=1, ensure_ascii=False), 'utf-8')
    return 1 if different else 0


if __name__ == '__main__':
    raise SystemExit(main())
