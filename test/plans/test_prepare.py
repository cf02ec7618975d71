"""From a trajectory to a plan that may run, as the node's worker process does it."""
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
import multiprocessing

from controllers import still
from grippers import gripper_urdf
import numpy as np
import pytest
from rigid_bodies import link

from hodyn_ros import HodynError, load_robot
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.reference import fit_plan

NAMES = tuple(f'fer_joint{i}' for i in range(1, 8))
PANDA = load_robot('panda')
START = [0.0, 1.2, 0.0, -0.5, 0.0, 1.57, 0.78]
RATE_BREAKING = [0.0, 1.2075, 0.0, -0.5, 0.0, 1.57, 0.78]


@pytest.fixture(scope='module')
def request_():
    """Return a request that breaks only the torque-rate limit."""
    return PlanRequest(
        JointWaypoints(NAMES, [0.0, 0.1], [START, RATE_BREAKING]), load_robot('panda'))


@pytest.mark.parametrize(('key', 'value', 'choices'), [
    ('stretch', 'automatic', "'off', 'offer', 'auto', 'retime'"),
    ('stretch', None, "'off', 'offer', 'auto', 'retime'"),
    ('commands', 'torque', "'effort', 'position'"),
    ('interpolation', 3, "'auto', 'global', 'bounded', 'local'"),
])
def test_settings_that_are_none_of_the_choices_are_refused(key, value, choices):
    with pytest.raises(HodynError, match=f'^{key} {value!r}: expected one of {choices}$'):
        PlanSettings(**{key: value})


def test_what_is_no_request_is_told_what_one_is():
    with pytest.raises(HodynError, match=(
            r"^request: expected PlanRequest\(trajectory, robot, …\), got 'plan.csv'$")):
        prepare_plan('plan.csv')
    for given in ('plan.csv', np.zeros((3, 7))):
        with pytest.raises(HodynError, match=r'^trajectory: expected JointWaypoints\(names'):
            PlanRequest(given, PANDA)
    with pytest.raises(HodynError, match=r'^robot: expected a Robot from load_robot'):
        PlanRequest(JointWaypoints((), [], [], [], []), 'panda')


def test_a_refusal_says_joint_quantity_time_value_limit_and_stretch(request_):
    prepared = prepare_plan(request_)
    for part in ('joint2', 'effort_rate', '-1828', 'at 0.05', 'limit -1000', '1.22'):
        assert part in prepared.refusal
    assert prepared.stretch == pytest.approx(1.22, abs=0.01)
    assert prepared.plan.duration == pytest.approx(0.1)


@pytest.mark.parametrize('stretch', ['off', 'offer', 'auto', 'retime'])
@pytest.mark.parametrize('times', [[0.0], [2.0], [0.0, 2.0], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize('away', [0.0, 1e-7, 1e-3])
def test_a_plan_to_where_the_arm_is_holds_it_there(request_, stretch, times, away):
    prepared = prepare_plan(replace(
        request_, trajectory=JointWaypoints(NAMES, times, [START] * len(times)),
        settings=PlanSettings(stretch=stretch),
        start=np.array([np.add(START, away), *np.zeros((4, 7))])))
    assert not prepared.refusal
    np.testing.assert_allclose(prepared.plan.evaluate(9.0)[0], START, atol=away + 1e-12)


def test_off_offers_nothing(request_):
    prepared = prepare_plan(replace(request_, settings=PlanSettings(stretch='off')))
    assert prepared.refusal
    assert 'slower' not in prepared.refusal
    assert prepared.stretch is None


def test_what_is_wrong_is_told_and_not_raised(request_):
    bad = replace(request_, trajectory=JointWaypoints(NAMES, [0.0], [[np.nan] * 7]))
    prepared = prepare_plan(bad)
    assert 'nan' in prepared.refusal
    assert prepared.plan is None
    past = JointWaypoints(NAMES, [0.0, 3.0], [START, [0.0, 1.9, 0.0, -0.5, 0.0, 1.57, 0.78]])
    prepared = prepare_plan(replace(request_, trajectory=past))
    assert 'joint2: position 1.9 rad at 3 s, limit 1.7628 rad' in prepared.refusal
    assert 'no stretch fixes it' in prepared.refusal


def test_starts_from_the_active_motion(request_):
    active = fit_plan([0.0, 4.0], [START, np.array(START) + 0.1])
    state = active.evaluate(1.5)
    target = JointWaypoints(NAMES, [2.0], [START])
    prepared = prepare_plan(replace(request_, trajectory=target, start=state))
    assert prepared.refusal == ''
    np.testing.assert_allclose(prepared.plan.evaluate(0.0), state, atol=1e-11)
    one_point_away = JointWaypoints(NAMES, [0.0, 2.0], [RATE_BREAKING, START])
    prepared = prepare_plan(replace(request_, trajectory=one_point_away, start=state))
    assert 'point 0, joint joint' in prepared.refusal



@pytest.mark.parametrize(('seconds', 'said'), [
    (1.0, 'begin nearer, or later; positions are in rad: are these degrees?'),
    (9.0, 'positions are in rad: are these degrees?'), (None, 'are these degrees?')])
def test_degrees_are_suspected_however_early_they_come(request_, seconds, said):
    """Within a second the advice was to begin nearer, or later."""
    points = np.degrees([START, np.add(START, 0.1)])
    times, start = [0.0, 9.0], None
    if seconds is not None:
        start = np.zeros((5, 7))
        start[0], times = START, [seconds, seconds + 9.0]
    prepared = prepare_plan(replace(
        request_, trajectory=JointWaypoints(NAMES, times, points), start=start))
    assert said in prepared.refusal


def test_a_slide_in_millimetres_is_suspected():
    robot = load_robot({
        'name': 'slide', 'bodies': [link('cart', joint='rail', kind='prismatic')],
        'limits': {'position': [[0.0, 1.5]]}})
    for far, said in ((900.0, True), (1.9, False)):
        prepared = prepare_plan(PlanRequest(
            JointWaypoints(('rail',), [0.0, 900.0], [[0.0], [far]]), robot))
        assert ('positions are in m: are these millimetres?' in prepared.refusal) == said


@pytest.mark.slow
def test_runs_in_a_worker_process(request_):
    context = multiprocessing.get_context('spawn')
    request = replace(request_, settings=PlanSettings(stretch='auto'), annotate_period=0.005)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there = pool.submit(prepare_plan, request).result(timeout=120)
    here = prepare_plan(request)
    assert there.refusal == here.refusal
    np.testing.assert_array_equal(there.plan.coefficients, here.plan.coefficients)
    np.testing.assert_array_equal(there.annotated.torque, here.annotated.torque)



def test_a_plan_that_ends_in_motion_is_judged_and_refused(request_):
    moving = JointWaypoints(
        NAMES, [0.0, 3.0], [START, RATE_BREAKING], [[0.0] * 7, [0.25, *[0.0] * 6]])
    prepared = prepare_plan(replace(request_, trajectory=moving))
    assert prepared.refusal == (
        "the last point, joint 'fer_joint1': velocity 0.25 is not zero; end at rest")
    assert prepared.limit_report.within_limits
    fast = prepare_plan(replace(request_, trajectory=replace(moving, times=[0.0, 0.1])))
    assert 'end at rest; joint' in fast.refusal
    assert 'effort_rate' in fast.refusal
    assert 'slower' not in fast.refusal
    settings = PlanSettings(allow_nonzero_velocity_at_end=True)
    assert prepare_plan(replace(request_, trajectory=moving, settings=settings)).refusal == ''


@pytest.mark.parametrize('seed', range(4))
def test_accelerations_at_the_ends_of_a_plan_are_replaced_by_rest(request_, seed):
    """Those of MoveIt's TOTG are the largest ones there: the torque would step with them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    velocities, accelerations = rng.uniform(-0.3, 0.3, (2, count, 7))
    velocities[[0, -1]] = rng.choice([0.0, 5e-5]) * rng.choice([-1.0, 1.0], (2, 7))
    trajectory = JointWaypoints(
        NAMES, np.arange(count) * 1.5, START + rng.uniform(-0.1, 0.1, (count, 7)),
        velocities if rng.random() < 0.5 else [[]] * count, accelerations)
    given = [row.copy() for row in trajectory.accelerations]
    prepared = prepare_plan(replace(request_, trajectory=trajectory))
    ends = prepared.plan.evaluate(np.array([0.0, prepared.plan.duration]))
    np.testing.assert_allclose(ends[:, 1:], 0.0, atol=1e-9)
    for name in ('first', 'last'):
        assert f'the {name} point is at rest: the accelerations there' in prepared.note
    np.testing.assert_array_equal(trajectory.accelerations, given)  # the caller's own


def test_a_plan_that_joins_a_motion_keeps_what_is_given_at_its_first_point(request_):
    start = np.zeros((5, 7))
    start[0], start[1, 0] = START, 0.1
    points = [START, np.add(START, 0.1)]
    trajectory = JointWaypoints(NAMES, [1.0, 2.5], points, [[0.0] * 7] * 2, [[0.2] * 7] * 2)
    prepared = prepare_plan(replace(request_, trajectory=trajectory, start=start))
    np.testing.assert_allclose(prepared.plan.evaluate(1.0)[2], 0.2, rtol=1e-9)
    assert 'the first point' not in prepared.note
    assert 'the last point' in prepared.note


def test_a_first_point_in_motion_is_said_to_begin_as_the_reference_moves(request_):
    """The node dropped its velocity without a word, and the check of the file kept it."""
    velocities = [[0.2, *[0.0] * 6], [0.0] * 7]
    trajectory = JointWaypoints(NAMES, [0.0, 2.5], [START, np.add(START, 0.1)], velocities)
    said = prepare_plan(replace(request_, trajectory=trajectory)).note
    point = 'the velocity of fer_joint1 at the first point is 0.2, but'
    assert f'{point} the node starts a plan with the velocity of its reference, usually 0' in said
    start = still(START)
    note = f'{point} the plan begins with the velocity of the reference'
    for speed, is_said in ((0.0, True), (0.1, True), (0.2, False)):
        start[1, 0] = speed
        prepared = prepare_plan(replace(request_, trajectory=trajectory, start=start))
        assert (note in prepared.note) == is_said
    resting = replace(trajectory, velocities=[[0.0] * 7] * 2)
    said = prepare_plan(replace(request_, trajectory=resting, start=start)).note
    assert 'fer_joint1 at the first point is 0, but the plan begins with the velocity of' in said
    later = replace(trajectory, times=[1.0, 2.5])
    assert 'begin' not in prepare_plan(replace(request_, trajectory=later)).note
    trajectory = replace(trajectory, velocities=[[0.0] * 7] * 2, accelerations=[[0.4] * 7] * 2)
    start[1, 0] = 0.0
    for given in (None, start):
        prepared = prepare_plan(replace(request_, trajectory=trajectory, start=given))
        assert 'the first point is at rest: the accelerations there' in prepared.note


def test_what_is_wrong_with_the_points_comes_before_what_it_leads_to(request_):
    """A gripper's joint is left out of a file's plan, never of one that the node is sent."""
    middle = [0.5 * (a + b) for a, b in zip(START, RATE_BREAKING, strict=True)]
    trajectory = JointWaypoints(
        ('finger', *NAMES), [0.0, 2.0, 4.0],
        [[0.1, *row] for row in (START, middle, RATE_BREAKING)],
        [[], [0.0, 0.0, -0.3, *[0.0] * 5], []])
    asked = replace(request_, trajectory=trajectory)
    assert "'finger' is not one of robot 'panda'" in prepare_plan(asked).refusal
    prepared = prepare_plan(replace(asked, settings=PlanSettings(leave_out_other_joints=True)))
    first, second, *_ = prepared.note.split('; ')
    assert first.startswith(
        "point 1, joint 'fer_joint2': velocity -0.3 rad/s, but between the points around it the "
        'joint moves at')
    assert second == (
        'finger: not part of panda, left out here (the node refuses plans that name other joints)')
    assert prepared.reservations.endswith(
        ", but its velocities contradict its positions (point 1, joint 'fer_joint2')")


@pytest.mark.parametrize('stretch', ['off', 'offer', 'auto'])
@pytest.mark.parametrize(('factor', 'duration'), [(-1.0, 0.5), (np.degrees(1.0), 4.0), (1e3, 4.0)])
def test_wrong_velocities_of_right_positions_are_the_reason_of_a_refusal(
        request_, factor, duration, stretch):
    """A stretch, a ramp or degrees were suggested, and 'auto' ran a stretched plan."""
    times = np.linspace(0.0, duration, 9)
    positions = START + 0.05 * (1.0 - np.cos(np.pi * times / duration))[:, None]
    speeds = 0.05 * np.pi / duration * np.sin(np.pi * times / duration)
    speeds[-1] = 0.0
    velocities = factor * np.repeat(speeds[:, None], 7, axis=1)
    trajectory = JointWaypoints(NAMES, times, positions, velocities)
    prepared = prepare_plan(replace(
        request_, trajectory=trajectory, settings=PlanSettings(stretch=stretch)))
    assert prepared.refusal.startswith("point 4, joint 'fer_joint1': velocity ")
    assert 'correct sign and unit of the velocities, or leave them out; joint' in prepared.refusal
    assert 'point 4' not in prepared.note
    assert prepared.stretch is None
    for remedy in ('slower', 'stretch', 'are these', 'ramp'):
        assert remedy not in prepared.refusal


def test_what_is_wrong_with_a_last_point_does_not_hide_wrong_velocities(request_):
    trajectory = JointWaypoints(
        NAMES, [0.0, 2.0, 4.0], [START, np.add(START, 0.1), np.add(START, 0.2)],
        [[0.0] * 7, [-0.1] * 7, [0.1] * 7])
    assert 'end at rest; point 1, joint ' in prepare_plan(
        replace(request_, trajectory=trajectory)).refusal


def test_only_points_out_of_range_are_asked_about(request_):
    """Velocities led a plan so far out of range that its positions were called degrees."""
    trajectory = JointWaypoints(
        NAMES, [0.0, 4.0, 8.0], [START, np.add(START, 0.1), START],
        [[0.0] * 7, [30.0] * 7, [0.0] * 7])
    for stretch in ('offer', 'retime'):
        prepared = prepare_plan(replace(
            request_, trajectory=trajectory, settings=PlanSettings(stretch=stretch)))
        assert 'are these' not in prepared.refusal


def test_a_joint_that_follows_is_no_stranger_and_may_not_contradict(tmp_path):
    (tmp_path / 'arm.urdf').write_text(gripper_urdf(centre='0 0 0'))
    arm = load_robot(str(tmp_path / 'arm.urdf'))

    def prepared(prefix, own, last):
        names = (f'{own}finger2', f'{prefix}arm_j1', f'{prefix}finger1')
        points = [[0.0101, 0.1, 0.01], [last, 0.2, 0.02]]
        return prepare_plan(PlanRequest(
            JointWaypoints(names, [0.0, 5.0], points), arm,
            PlanSettings(allow_other_model=True)))

    for prefix, own in (('', ''), ('left_', 'left_'), ('left_', '')):
        good = prepared(prefix, own, 0.0202)
        assert f'{own}finger2 follows {prefix}finger1, left out' in good.note
        assert not good.refusal
        assert not good.reservations
        wrong = prepared(prefix, own, -0.02)
        assert (f'point 1 has {own}finger2 at -0.02, but it follows {prefix}finger1 and is at '
                '0.02, left out') in wrong.note
        assert wrong.reservations == (
            ', but positions of coupled joints contradict their coupling')


COUNT, SPACING, HOME = 200, 0.05, np.array([0.0, 0.2, 0.0, -1.5, 0.0, 1.57, 0.78])


def curve():
    """Return points 50 ms apart on a smooth curve, in motion at both ends."""
    turn = np.linspace(0.0, 3.0, COUNT)[:, None]
    return HOME + 0.5 * np.sin(turn + np.arange(7.0)) - 0.5 * np.sin(np.arange(7.0))


def prepared_samples(points, **settings):
    times = SPACING * np.arange(len(points))
    return prepare_plan(PlanRequest(
        JointWaypoints(PANDA.joint_names, times.tolist(), points.tolist()), PANDA,
        PlanSettings(**settings)))


def test_they_are_said_before_the_peaks_that_follow():
    points = 5.0 * (curve()[::5] - HOME) * np.array([1, 0, 0, 0, 0, 0, 0]) + HOME
    speed = abs(points[1, 0] - points[0, 0]) / SPACING
    said = prepared_samples(points).refusal.split('; ')
    assert said[0].startswith('point 1: joint1 must reach ')
    assert float(said[0].split()[5]) == pytest.approx(speed, rel=0.02)
    assert said[0].endswith(
        ' rad/s in 0.05 s from rest: begin with a ramp, or retime')
    assert said[1].startswith('the last point: joint1 must stop in 0.05 s from ')
    assert 'limit' in said[2]


@pytest.mark.parametrize(('acceleration', 'hasty'), [(1.45, True), (1.6, False)])
def test_an_end_is_as_hasty_as_the_start_that_mirrors_it(acceleration, hasty):
    # A motion that begins and ends with 1.5 rad/s², with the velocities of its points.
    times = np.linspace(0.0, 2.0, 41)
    s = times / 2.0
    positions, velocities = np.tile(HOME, (41, 1)), np.zeros((41, 7))
    positions[:, 0] += s**2 * (3.0 - 2.0 * s)
    velocities[:, 0] = 3.0 * s * (1.0 - s)
    robot = replace(PANDA, limits=replace(PANDA.limits, acceleration=np.full(7, acceleration)))
    said = prepare_plan(PlanRequest(JointWaypoints(
        PANDA.joint_names, times.tolist(), positions.tolist(), velocities.tolist()), robot,
        PlanSettings())).refusal
    assert ('joint1 must reach' in said) is hasty
    assert ('joint1 must stop' in said) is hasty


def test_the_fit_does_not_swing_for_them_beyond_the_first_step():
    points = 8.0 * (curve() - HOME) + HOME
    plan = prepared_samples(points).plan
    inside = np.linspace(SPACING, plan.duration - SPACING, 4001)
    turn = 3.0 * inside / plan.duration
    rate = 3.0 / plan.duration
    expected = -4.0 * rate**2 * np.sin(turn[:, None] + np.arange(7.0))
    np.testing.assert_allclose(
        plan.evaluate(inside)[:, 2], expected, atol=0.2 * np.abs(expected).max())


def test_a_plan_that_begins_and_ends_with_ramps_is_not_doubted():
    share = np.linspace(0.0, 1.0, COUNT)
    ramp = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    way = np.outer(ramp, np.array([2.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0]))
    for speed in (1.0, 0.05):  # within limits, and beyond them
        times = speed * SPACING * np.arange(COUNT)
        waypoints = JointWaypoints(
            PANDA.joint_names, times.tolist(), (HOME + way).tolist())
        prepared = prepare_plan(PlanRequest(waypoints, PANDA))
        assert (prepared.refusal == '') == (speed == 1.0)
        assert 'ramp' not in prepared.refusal


def test_retiming_begins_with_one():
    points = 2.5 * (curve()[::5] - HOME) * np.array([1, 0, 0, 0, 0, 0, 0]) + HOME
    assert prepared_samples(points, stretch='retime').refusal == ''
