"""Options that no other test needs: each changes what it says it changes."""
import argparse
import ast
import json
from pathlib import Path
import re

import numpy as np
import pytest
from rigid_bodies import link

import hodyn_ros as hd
from hodyn_ros.cli.main import _parser


def actions():
    """Yield the arguments of all commands, each with the name of its command."""
    commands, = (
        action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, parser in commands.choices.items():
        for action in parser._actions:
            yield command, action


def test_a_test_of_each_command_names_each_of_its_options():
    """Of options that commands share, meaning and all, a test of one command is enough."""
    tests = [
        {word for node in ast.walk(ast.parse(path.read_text('utf-8')))
         if isinstance(node, ast.Constant) and isinstance(node.value, str)
         for word in node.value.split()}
        for path in Path(__file__).parents[1].rglob('test_*.py')]
    named = {}
    for command, action in actions():
        for option in action.option_strings:
            if option.startswith('--'):
                named.setdefault((option, action.help), []).append(any(
                    {command, option} <= constants for constants in tests))
    assert len(named) > 60
    assert [option for (option, _), found in named.items() if not any(found)] == []


def test_the_help_of_an_option_tells_its_default():
    told = 0
    for command, action in actions():
        found = re.search(r'\(default: ([^)]*)\)$', action.help or '')
        # What follows from other options has none of its own.
        if found and action.default not in (None, False, ''):
            default = action.default
            values = default if isinstance(default, tuple) else [default]
            assert found[1] == ', '.join(map(_told, values)), (command, action.dest)
            told += 1
    assert told > 20


def _told(default):
    return f'{default:g}' if isinstance(default, float) else str(default)


def test_path_tolerance_bounds_by_what_samples_are_missed(hodyn):
    rng = np.random.default_rng(1)
    times = 0.01 * np.arange(200)
    samples = 0.2 * np.sin(5.0 * times[:, None] * np.ones(7) + np.arange(7.0))
    samples += rng.normal(scale=3e-4, size=(200, 7))
    samples += [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
    names = [f'joint{i}' for i in range(1, 8)]
    np.savetxt(
        'plan.csv', np.column_stack([times, samples]), delimiter=',', comments='',
        header=','.join(['time', *names]))
    missed = {}
    for tolerance in (4e-4, 5e-3):
        missed[tolerance] = hodyn(
            'retime', 'plan.csv', '--robot', 'panda', '--output', 'fast.yaml', '--force', '--json',
            '-', '--path-tolerance', tolerance).figures['path_deviation']
        assert 0.0 < missed[tolerance] <= tolerance
    assert missed[5e-3] > 1.5 * missed[4e-4]


def test_inertias_that_no_body_has_are_told_instead_of_refused(hodyn):
    mapping = {'name': 'odd', 'bodies': [link('a', inertia=np.diag([0.1, 0.1, 1.0]).tolist())]}
    with pytest.raises(hd.HodynError):
        hd.load_robot(mapping)
    Path('odd.yaml').write_text(json.dumps(mapping))
    assert "key 'inertia'" in hodyn('info', 'odd.yaml', code=2).err
    said = hodyn('info', 'odd.yaml', '--inertia-check', 'warn').err
    assert 'warning' in said
    assert 'inertia' in said
