"""The reference numbers are what the tool beside the tests computes from the parameters."""
import json

from make_reference import FILES, FOLDER, expected
import pytest


@pytest.mark.parametrize('name', [
    FILES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FILES[1:])])
def test_a_case_of_each_file_is_computed_again(name):
    file = json.loads((FOLDER / name).read_text('utf-8'))
    case = file['cases'][0]
    assert expected(file, case) == case['expected']
