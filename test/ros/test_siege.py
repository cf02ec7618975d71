"""Whatever comes in, the node keeps its limits and never steps; and what tells that it did."""
from cycle_watch import Limits, Watch
import numpy as np
import pytest

H = 0.004
JOINTS = [f'joint{k}' for k in range(1, 8)]


def watched(spoil=lambda cycles, stamps: None, reason: str = '') -> Watch:
    """Return the judge of a smooth motion of a second, spoilt."""
    watch = Watch(Limits.of('panda'), JOINTS, max_time_step=0.01, period=H)
    t = H * np.arange(250)[:, None]
    middle = (watch.limits.upper + watch.limits.lower) / 2
    turn, swing = 3.0, 0.3 * np.ones(7)
    wave = [swing * turn**k * np.sin(turn * t + k * np.pi / 2) for k in range(5)]
    cycles = np.stack((middle + wave[0], wave[1], *(-2.0 * one for one in wave[2:])), axis=1)
    stamps = np.round(1e9 * t[:, 0]).astype(np.int64)
    spoil(cycles, stamps)
    if reason:
        watch.hear_state(100 * H, 'holding', reason)
    watch.sent.extend(stamps.tolist())
    for k, (stamp, rows) in enumerate(zip(stamps, cycles, strict=True)):
        watch.hear_torque(k * H, int(stamp), JOINTS, *rows[:3])
        watch.hear_derivative('torque_rate', k * H, int(stamp), rows[3])
        watch.hear_derivative('torque_accel', k * H, int(stamp), rows[4])
    watch.judge(0.5)
    watch.judge(np.inf)
    return watch


def test_a_smooth_motion_is_faultless():
    watch = watched()
    assert watch.counts['neighbours'] == 249
    assert not watch.violations
    assert (watch.residual > 0.0).all()


@pytest.mark.parametrize(('row', 'size'), [(0, 1e-3), (1, 0.1), (2, 0.5), (3, 20.0)])
def test_a_step_is_found(row, size):
    def spoil(cycles, stamps):
        cycles[100:, row, 3] += size

    assert 'step' in watched(spoil).violations[0].what


def test_a_step_is_explained_by_the_state():
    def spoil(cycles, stamps):
        cycles[100:, 0, 3] += 0.2

    watch = watched(spoil, 'joint4 is +0.3 away: the arm is held where it is')
    assert not watch.violations
    assert len(watch.departures) == 1


def test_a_gap_that_is_left_out_is_faultless_and_one_that_is_jumped_is_not():
    def left_out(cycles, stamps):
        stamps[100:] += 3 * 10**9

    def jumped(cycles, stamps):
        cycles[:150] = cycles[100:].copy()[:150]
        cycles[100:, 0] += 0.01
        stamps[100:] += 3 * 10**9

    def went_back(cycles, stamps):
        stamps[100:] -= 3 * 10**9

    assert not watched(left_out).violations
    assert not watched(went_back).violations
    assert watched(jumped).violations


@pytest.mark.parametrize(('row', 'value', 'text'), [
    (0, 2.9, 'q of joint1'), (1, 2.2, 'q̇ of joint1'), (2, 95.0, 'Q of joint1'),
    (3, -1100.0, 'Q̇ of joint1'), (0, np.nan, 'not finite'), (4, np.inf, 'not finite')])
def test_a_value_beyond_its_limit_is_found(row, value, text):
    def spoil(cycles, stamps):
        cycles[100, row, 0] = value

    assert any(text in one.what for one in watched(spoil).violations)


def test_torques_beyond_limits_are_explained_by_the_joint_in_the_state():
    def spoil(cycles, stamps):
        cycles[:, 2, 0] += 95.0

    assert watched(spoil).violations
    watch = watched(spoil, 'torque of joint1 is 95 N m, beyond 87 N m')
    assert any('Q of joint1' in one.what for one in watch.departures)


def test_a_stop_without_a_reason_is_found():
    watch = watched()
    watch.hear_state(2.0, 'stopping', '')
    assert 'reason' in watch.violations[-1].what


def besiege(folder, seconds: float, seed: int):
    from siege import Siege

    siege = Siege(folder, seed)
    try:
        siege.run(seconds)
    finally:
        siege.close()
    text = siege.report()
    assert not siege.failures, text
    assert not siege.watch.violations, text
    return siege


@pytest.mark.live
def test_no_attack_leads_beyond_a_limit_or_to_a_step(ros_environment, monkeypatch, tmp_path):
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    siege = besiege(tmp_path, 12.0, seed=7)
    assert siege.watch.counts['neighbours'] > 1000


@pytest.mark.siege
@pytest.mark.live
def test_no_attack_leads_beyond_a_limit_or_to_a_step_in_minutes(
    ros_environment, monkeypatch, tmp_path,
):
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    siege = besiege(tmp_path, 240.0, seed=11)
    assert siege.watch.counts['neighbours'] > 20_000
    assert siege.watch.use[[1, 4]].max() > 0.9  # it was driven hard
