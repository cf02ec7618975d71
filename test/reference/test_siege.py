"""Whatever is asked of a reference, at any time: it keeps its limits and never steps."""
import pytest
from reference_siege import Siege, limits_of

import hodyn_ros as hd

MODES = {'holding', 'streaming', 'stopping', 'following'}


def assert_unharmed(findings):
    assert findings.use[0] <= 1e-12, 'q left its range'
    assert (findings.use[1:] <= 1.0 + 1e-5).all(), 'q̇, q̈ or q⃛ passed its limit'
    assert findings.residual <= 1.0, 'a step'


@pytest.mark.parametrize('seed', range(4))
def test_no_request_leads_beyond_the_limits(seed):
    findings = Siege(limits_of(hd.load_robot('panda')), seed).run(12_000)
    assert_unharmed(findings)
    assert findings.use[1] > 0.9  # it was driven hard


@pytest.mark.slow
@pytest.mark.parametrize('bandwidth', [5.0, 50.0, 500.0])
def test_no_request_leads_beyond_the_limits_in_a_long_siege(bandwidth):
    modes = set()
    for seed in range(2):
        findings = Siege(limits_of(hd.load_robot('fr3')), 100 + seed, bandwidth).run(15_000)
        assert_unharmed(findings)
        modes |= findings.modes
    assert modes == MODES
