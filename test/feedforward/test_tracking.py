"""An arm elsewhere than its reference is noticed, a single wrong reading is not."""
import numpy as np

from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.reference.limits import largest_ratio


def test_a_departure_counts_when_it_persists():
    watch = TrackingWatch(np.array([0.2, np.inf, 0.1]))
    watch.compare(np.array([0.15, 9.0, 0.0]), np.zeros(3))
    assert watch.is_notable
    assert not watch.is_beyond
    away = np.array([0.0, 0.0, -0.3])
    for expected in (False, False, True):
        watch.compare(away, np.zeros(3))
        assert watch.is_beyond
        assert watch.has_departed is expected
    assert watch.joint == 2
    assert watch.error == -0.3
    watch.compare(np.zeros(3), np.zeros(3))
    assert not watch.has_departed


def test_it_begins_anew_where_the_reference_was_led_to_the_arm():
    watch, away = TrackingWatch(np.full(2, 0.1)), np.array([0.0, 0.3])
    assert (watch.joint, watch.error, watch.ratio) == (0, 0.0, 0.0)
    for _ in range(2):
        for expected in (False, False, True):
            watch.compare(away, np.zeros(2))
            assert watch.has_departed is expected
        watch.forget()
        assert not watch.has_departed
        assert not watch.is_beyond
        assert not watch.is_notable


def test_two_wrong_readings_are_no_departure():
    watch = TrackingWatch(np.full(1, 0.1))
    for _ in range(100):
        watch.compare(np.array([5.0]), np.zeros(1))
        watch.compare(np.array([5.0]), np.zeros(1))
        assert not watch.has_departed
        watch.compare(np.zeros(1), np.zeros(1))


def test_what_must_not_be_at_all_is_passed_by_anything():
    """A limit of 0, of a robot made in Python, is no division by zero."""
    assert largest_ratio(np.array([0.0, 1e-9, 0.5]), np.array([0.0, 0.0, 1.0])) == (1, np.inf)
    assert largest_ratio(np.zeros(2), np.zeros(2)) == (0, 0.0)
