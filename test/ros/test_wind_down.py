"""A deactivation ends, whatever the supervisor makes of it."""
from types import SimpleNamespace

import pytest

from hodyn_ros.feedforward.transitions import State
from hodyn_ros.ros import session


@pytest.mark.parametrize('ends', [True, False])
def test_a_deactivation_that_never_comes_to_rest_is_given_up_and_said(monkeypatch, ends):
    monkeypatch.setattr(session, 'longest_end', lambda fade: 0.02 + 4.0 * fade)
    supervisor = SimpleNamespace(
        state=State.ENDING, deactivate=lambda: None, stamp_at=lambda at: round(at * 1e9))
    errors, steps = [], []

    def step(stamp, at):
        steps.append(stamp)
        if ends and len(steps) == 5:
            supervisor.state = State.ENDED

    session.Session.wind_down(SimpleNamespace(
        supervisor=supervisor, _settings=SimpleNamespace(fade=0.005),
        _log={'error': errors.append}, _step=step, _say=lambda: None))
    assert len(steps) >= 5
    assert [error[:17] for error in errors] == ([] if ends else ['not at rest 0.04 '])
