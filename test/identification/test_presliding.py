"""Friction that builds up over a displacement is told from errors of another kind."""
import numpy as np
import pytest

from hodyn_ros.identification.presliding import PreslidingFit


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
