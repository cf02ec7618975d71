"""Whatever changes what is published, in any order: it keeps its limits and never steps."""
from output_siege import ROBOTS, OutputSiege
import pytest


@pytest.mark.parametrize('kind', ROBOTS)
def test_no_cause_of_change_makes_a_step_or_passes_a_limit(kind):
    found = OutputSiege(kind, 7).run(2500)
    assert not found.worst
    assert found.causes > 30
    assert found.cycles == 2500
    if kind in ('springs', 'tendons'):
        assert found.held > 100
        assert found.motor_velocity > 0.1
    if kind != 'free':
        assert found.effort > 0.9


@pytest.mark.slow
@pytest.mark.parametrize('kind', ROBOTS)
def test_no_cause_of_change_in_a_long_siege(kind):
    assert not OutputSiege(kind, 100).run(20_000).worst
