"""Lets every test folder import the helper modules beside this file, and finds reference data."""
import json
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / 'shared' / 'data' / 'reference'


@pytest.fixture(scope='session')
def reference():
    """Return a function that loads a reference file, or skips the test where there is none."""
    def load(name):
        path = REFERENCE / name
        if not path.is_file():
            pytest.skip(f'no reference data at {path}')
        return json.loads(path.read_text())
    return load
