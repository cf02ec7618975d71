"""Logs whose messages come in bursts and determine no clock: fast."""
from made_logs import PERIOD, assert_as_promised, moving, of_full_buffers, sent_in_bursts, swinging
import numpy as np
import pytest

from hodyn_ros.estimation.derivatives import Samples, fit_noise, smooth
from hodyn_ros.estimation.timing import MIN_RUN

pytestmark = pytest.mark.fast


@pytest.mark.parametrize('recorded', [True, False])
@pytest.mark.parametrize('seed', range(3))
def test_a_slow_arm_in_bursts_is_restored_or_spread_and_never_refused(seed, recorded):
    """As stamped its positions were not those of a motion: so much in a microsecond."""
    log = swinging(*sent_in_bursts(seed, lost=0.02), 5e-3, 2e-5, slow=40.0, recorded=recorded)
    log.velocity[:] += 1e-4 * np.random.default_rng(seed).standard_normal(log.velocity.shape)
    run, = log.timing().runs
    assert np.std(log.errors([run])[0]) < 0.6 * PERIOD < 0.2 * np.std(log.stamps - log.time)
    given = Samples(run.time, log.position, log.velocity)
    speed = smooth(given, fit_noise([given])).q[100:-100, 1]
    assert np.abs(speed - moving(log.time / 40.0, 5e-3)[1][100:-100] / 40.0).max() < 2e-3


def at_rest(seed, most, *, count=5000, recorded=True):
    """Return the log of an arm at rest."""
    log = swinging(*sent_in_bursts(seed, count=count, most=most), PERIOD, recorded=recorded)
    rng = np.random.default_rng(seed)
    log.position[:] = 0.3 + 1e-5 * rng.standard_normal(log.position.shape)
    log.velocity[:] = 1e-3 * rng.standard_normal(log.position.shape) + 0.0 * log.velocity
    return log


@pytest.mark.parametrize('most', [3, 7, 30])
@pytest.mark.parametrize('seed', range(2))
def test_an_arm_that_rests_in_bursts_is_spread_over_the_pauses(seed, most):
    log = at_rest(seed, most)
    timing = log.timing()
    assert_as_promised(log, timing, off=2.0, rel=None, spaced=True)
    run, = timing.runs
    assert np.diff(run.time).min() > 0.4 * PERIOD
    given = Samples(run.time, log.position, log.velocity)
    assert np.abs(smooth(given, fit_noise([given])).q[:, 1]).max() < 1e-3


def test_a_pause_before_which_bursts_are_spread_is_a_gap():
    """Of an arm at rest nothing tells whether it was logged meanwhile."""
    log = at_rest(0, 9, count=4000, recorded=False)
    log = log[(log.time <= 1.5) | (log.time >= 2.5)]
    assert_as_promised(log, log.timing(), off=3.0, rel=None, count=2, spaced=True)


@pytest.mark.parametrize('jump', [-0.3, -0.02, 0.05])
@pytest.mark.parametrize('size', [4, 130, 400])
@pytest.mark.parametrize('at', [60, 1500])
def test_a_clock_that_is_set_amid_bursts_of_any_size_leaves_no_sample_out(size, jump, at):
    """Also within the first burst, or back by less than bursts are apart."""
    runs = of_full_buffers(size, PERIOD, 3000, jump / PERIOD, at).timing().runs
    assert sum(len(run.message) for run in runs) > 2990 - (400 if jump < 0.0 else 0)
    for run in runs:
        assert np.all(np.diff(run.time) > 0.0)


@pytest.mark.parametrize('seed', range(30))
def test_instants_of_any_bursts_increase_and_are_near_their_bursts(seed):
    """Whatever is sent at once, however the arm moves: nothing is torn apart or put backwards."""
    rng = np.random.default_rng([44, seed])
    most, lost = int(rng.integers(2, 60)), float(rng.choice([0.0, 0.05, 0.3]))
    time, stamps = sent_in_bursts(seed, count=2000, most=most, lost=lost)
    pace, noise = float(rng.choice([0.0, 0.01, 0.3, 1.0])), float(rng.choice([0.0, 1e-6, 1e-4]))
    timing = swinging(
        time, stamps, 5e-3, noise, slow=1.0 / pace if pace else np.inf,
        recorded=rng.random() < 0.5).timing()
    used = np.concatenate([run.message for run in timing.runs])
    assert len(np.unique(used)) == len(used)
    assert len(used) > len(time) - MIN_RUN * (len(timing.runs) + 1)
    for run in timing.runs:
        assert np.all(np.diff(run.time) > 0.0)
        at = run.time + stamps[run.message[0]]
        assert np.abs(at - stamps[run.first_message]).max() < (2 * most + 5) * PERIOD
