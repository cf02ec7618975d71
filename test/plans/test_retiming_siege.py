"""A small share of `tools/retiming_siege.py`: what is found is refused nowhere, and holds."""
import pytest
from retiming_siege import TOLERANCE, judged, made

pin = pytest.importorskip('pinocchio', reason='pinocchio is not installed')


@pytest.mark.slow
@pytest.mark.parametrize('seed', [
    *range(16, 22), *(pytest.param(seed, marks=pytest.mark.siege) for seed in range(22, 28))])
def test_a_random_path_is_within_all_limits_by_pinocchio_and_differences(seed):
    case = made(seed)
    prepared, shares, _ = judged(case, pin)
    assert prepared.refusal == ''
    assert max(shares.values()) <= 1.0 + TOLERANCE, shares
    assert max(shares.values()) > 0.97  # as fast as one of them allows
    uniform = prepared.retimed.uniform_stretch_duration
    assert uniform is None or prepared.plan.duration <= uniform
