"""No pattern backtracks without end, whatever it is given."""
import json
from pathlib import Path
import re
import subprocess
import sys

from pattern_attacks import attacks, patterns
import pytest

PACKAGE = Path(__file__).parents[1] / 'hodyn_ros'
TOOL = Path(attacks.__code__.co_filename)


def try_out(tmp_path, which, timeout):
    """Run the attacks, and return where they were when they ended or the time was up."""
    (tmp_path / 'patterns.json').write_text(json.dumps(which))
    command = [sys.executable, TOOL, tmp_path / 'patterns.json']
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=True)
    except subprocess.TimeoutExpired as late:
        return False, late.stdout.decode().split()
    return True, done.stdout.split()


@pytest.mark.slow
def test_each_pattern_ends_with_its_worst_case(tmp_path):
    found = list(patterns(PACKAGE))
    assert len(found) > 15
    ended, tried = try_out(tmp_path, found, 300.0)
    assert ended, f'{tried[-1]} does not end'
    assert len(tried) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize('pattern', [
    r'\s*(<\?.*?\?>\s*|<!--.*?-->\s*)*<mujoco\b',  # told MJCF from URDF
    r'(\w+\s?)*;', r'^(a|a)*$', r'x(.*a){12}b', r'(/[^/]+)*(/[^/]+)*(/[^/]+)*(/[^/]+)*!'])
def test_one_that_does_not_end_is_found(tmp_path, pattern):
    assert not try_out(tmp_path, [['here', pattern, int(re.DOTALL)]], 2.0)[0]
