"""What the tests of identification share."""
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def identified(hodyn):
    """Return a function that runs `hodyn identify`, and returns what it found."""
    from known_recordings import Identified  # not before the folder of the kernels is set

    def run(*bags, terms=('friction',), options=(), output='out'):
        said = hodyn('identify', *bags, '--terms', *terms, '--output', output, *options)
        return Identified(Path(output), said.out)
    return run
