"""Friction that builds up over a displacement is told from errors of another kind."""
import numpy as np
import pytest

from hodyn_ros.identification.presliding import DISPLACEMENTS, PreslidingFit


def fitted(displacement, noise, *, chunks=7, seed=0):
    """Return what is found of joints with Dahl's friction of 2 N m, or none, and their errors."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 30.0, 0.01)
    q = np.stack([
        np.stack([np.sin(1.3 * time + i), 1.3 * np.cos(1.3 * time + i)], axis=1)
        for i in range(2)], axis=2)
    error = noise * rng.standard_normal((len(time), 2))
    law = np.tanh(20.0 * q[:, 1])
    if displacement is not None:
        z = np.zeros(2)
        for t in range(1, len(time)):
            moved = q[t, 0] - q[t - 1, 0]
            side = np.sign(moved)
            z = side + (z - side) * np.exp(-np.abs(moved) / displacement)
            error[t] += 2.0 * (z - law[t])
    found = PreslidingFit(2, 3)
    part = (time // 2.0).astype(np.intp) % 3
    for some in np.array_split(np.arange(len(time)), chunks):
        found.add(q[some], error[some], law[some], part[some])
    return found.result(), np.sqrt(np.mean(error ** 2, axis=0))


def test_the_displacement_is_found_and_explains_the_error():
    found, before = fitted(8e-3, 0.01)
    assert found.displacement == pytest.approx(8e-3, rel=0.2)
    assert found.torque == pytest.approx(2.0, rel=0.05)
    assert np.all(found.held_out < 0.15 * before)


def test_the_bristles_go_on_from_chunk_to_chunk():
    """Guards bristles that begin anew in each chunk of a recording."""
    one, other = (fitted(8e-3, 0.01, chunks=chunks)[0] for chunks in (1, 50))
    np.testing.assert_allclose(one.held_out, other.held_out, rtol=1e-9)


def test_errors_of_another_kind_are_not_explained():
    """Guards presliding found in noise, for it is judged by what it was not fitted to."""
    found, before = fitted(None, 1.0)
    assert np.all(found.held_out > 0.99 * before)


def test_what_bristles_explain_wholly_leaves_nothing():
    """And no square root of what round-off makes less than nothing."""
    rng = np.random.default_rng(0)
    for k, displacement in enumerate(DISPLACEMENTS[::4]):
        q = np.zeros((900, 2, 3))
        q[:, 0] = np.cumsum(rng.normal(scale=0.3 * displacement, size=(900, 3)), axis=0)
        z, error = np.zeros(3), np.zeros((900, 3))
        for t in range(1, 900):
            moved = q[t, 0] - q[t - 1, 0]
            side = np.sign(moved)
            z = side + (z - side) * np.exp(-np.abs(moved) / displacement)
            error[t] = (k + 1.0) * z
        found = PreslidingFit(3, 3)
        found.add(q, error, np.zeros((900, 3)), np.arange(900) // 300)
        result = found.result()
        np.testing.assert_allclose(result.displacement, displacement)
        np.testing.assert_allclose(result.torque, k + 1.0, rtol=1e-6)
        assert np.all(result.held_out < 1e-5)
        assert all(np.all(found.held_out(part) < 1e-5) for part in range(3))
    # Of joints that are not heard, nothing is known.
    found.restart()
    silent = PreslidingFit(3, 2)
    silent.add(q, np.full((900, 3), np.nan), np.zeros((900, 3)), np.arange(900) // 450)
    np.testing.assert_array_equal(silent.result().held_out, 0.0)
