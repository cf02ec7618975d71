"""Finds the data that stands beside this file."""
import json
from pathlib import Path

import pytest

DATA = Path(__file__).parent / 'data'


@pytest.fixture(scope='session')
def reference():
    """Return a function that loads a file of reference numbers."""
    return lambda name: json.loads((DATA / 'reference' / name).read_text('utf-8'))


@pytest.fixture(scope='session')
def real_bag():
    """Return the recording of a real Panda."""
    bag = DATA / 'panda_exciting_trajectory'
    assert bag.is_dir(), f'no recording at {bag}'
    return bag
