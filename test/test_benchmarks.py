"""What the benchmarks of the papers compute; no time is asserted."""
import sys

import matplotlib as mpl
import numpy as np
import pytest

from benchmarks import automatic_differentiation, floating_growth, operation_counts, papers, peers
import hodyn_ros as hd


@pytest.mark.parametrize('links', [1, 4, 199])
def test_the_tree_has_five_branches_of_links(links):
    robot = floating_growth.tree(links)
    assert len(robot.bodies) == floating_growth.bodies(links) == 1 + 5 * links
    parents = [body.parent for body in robot.bodies]
    assert parents.count(0) == 5
    assert all(parents.count(i) <= 1 for i in range(1, len(parents)))
    assert robot.floating


def test_its_first_branch_hangs_as_that_of_the_paper():
    robot, of_paper = floating_growth.tree(3), hd.load_robot('aerial_manipulator')
    for one, other in zip(robot.bodies[:4], of_paper.bodies[:4], strict=True):
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)
        np.testing.assert_array_equal(one.axis, other.axis)
        assert one.parent == other.parent


@pytest.mark.parametrize('order', range(4))
def test_casadi_derives_the_torques_and_accelerations(order):
    casadi = pytest.importorskip('casadi', reason='casadi is not installed')
    found = list(floating_growth.automatic(casadi, floating_growth.tree(2), order))
    assert [contender.name for contender, _ in found] == ['CasADi, inverse', 'CasADi, forward']
    assert all(difference < 1e-10 for _, difference in found)
    assert all(np.abs(contender.keeps.result).max() > 1e-3 for contender, _ in found)


def test_the_c_of_casadi_gives_the_torques(tmp_path):
    casadi = pytest.importorskip('casadi', reason='casadi is not installed')
    robot = hd.load_robot('panda')
    q, out = np.random.default_rng(0).normal(size=(5, robot.n)), np.empty((3, robot.n))
    try:
        evaluate, keeps = peers.casadi_torques(casadi, robot, tmp_path, q, out)
    except RuntimeError as error:
        pytest.skip(str(error))
    evaluate()
    assert keeps
    np.testing.assert_allclose(out, hd.inverse_dynamics(robot, q), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('what', ['inverse', 'forward'])
def test_operations_grow_by_less_with_each_order(what):
    robot = floating_growth.tree(1)
    counts = np.array([
        automatic_differentiation.operations_of_recursion(robot, order, what)
        for order in range(5)])
    ratios = counts[1:] / counts[:-1]
    assert (np.diff(ratios) < 0).all()
    assert ratios[-1] > 1


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
def test_body_fixed_takes_fewer_operations_at_each_order(name):
    robot = hd.load_robot(name)
    counts = np.array([
        [operation_counts.count(robot, order, formulation) for order in range(3)]
        for formulation in ('spatial', 'body_fixed')])
    assert (counts[0] > counts[1]).all()
    assert (np.diff(counts) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize('missing', [True, False])
def test_the_command_draws_each_figure(tmp_path, monkeypatch, capsys, missing):
    """With few bodies, orders and calls; CasADi is named where it is not installed."""
    if missing:
        monkeypatch.setitem(sys.modules, 'casadi', None)
    else:
        pytest.importorskip('casadi', reason='casadi is not installed')
    monkeypatch.setattr(floating_growth, 'LINKS', (1, 2, 20))
    monkeypatch.setattr(floating_growth, 'FIXED', 2)
    monkeypatch.setattr(floating_growth, 'AUTOMATIC_ORDERS', range(3))
    monkeypatch.setattr(papers, 'COUNTED', ('twolink',))
    monkeypatch.setattr(papers, 'PRINTED_CALLS', [
        (paper, robot, 10, formulation, seconds)
        for paper, robot, _, formulation, seconds in papers.PRINTED_CALLS])
    monkeypatch.setattr(sys, 'argv', ['papers', str(tmp_path), '--turns', '1'])
    monkeypatch.setenv('COLUMNS', '120')
    with mpl.rc_context():
        papers.main()
    assert {path.name for path in tmp_path.iterdir()} == {
        'mk21.png', 'm21_km21.png', 'agf26_fig3.png', 'agf26_fig4.png', 'mr9_2r.png'}
    printed = capsys.readouterr().out
    assert ('CasADi is not installed (pip install casadi)' in printed) == missing
    assert ('CasADi, inverse, as a multiple of ours' in printed) != missing
