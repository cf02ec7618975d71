"""An arm that moves as arms do is not led elsewhere by a driver that is wrong for a while."""
from controllers import HOME, with_tendons
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from supervised import PANDA, World, running

import hodyn_ros as hd
from hodyn_ros.actuators.laws import AntagonisticExponential

ELASTIC = with_tendons(PANDA, AntagonisticExponential(2.0, 20.0, 2000.0))
LOW, HIGH = PANDA.limits.position_min, PANDA.limits.position_max
ZEROS = np.clip(np.zeros(7), LOW, HIGH)
FALSE = {  # by where the arm is, a share and the number of the state
    'zeros': lambda arm, share, count: ZEROS,
    'elsewhere': lambda arm, share, count: LOW + share * (HIGH - LOW),
    'one joint': lambda arm, share, count: arm + (0.7 + share) * (np.arange(7) == 3),
    'one turn': lambda arm, share, count: arm + 2.0 * np.pi * (np.arange(7) == 6),
    'noise': lambda arm, share, count: np.clip(
        arm + (0.5 + share) * np.sin(1e3 * (count + 1) * np.arange(1, 8)), LOW, HIGH),
    'ramp': lambda arm, share, count: arm + min(1.0, count / 50) * (ZEROS - arm),
    'bursts': lambda arm, share, count: arm if count % 20 < 20 * share else ZEROS}


@st.composite
def spells(draw):
    """Return spells of true states, silence and false states, with seconds, place and kind."""
    return draw(st.lists(st.tuples(
        st.sampled_from(['true', 'plan', 'silent', *FALSE]), st.floats(0.004, 1.5),
        st.floats(0.05, 0.95)), min_size=1, max_size=6))


@pytest.mark.parametrize('is_elastic', [False, True])
@pytest.mark.parametrize('examples', [12, pytest.param(200, marks=pytest.mark.siege)])
def test_a_driver_that_is_wrong_for_a_while_does_not_move_the_reference(examples, is_elastic):
    """Zeros for 0.12 s led q_d there and back, and motors of an elastic arm after it."""
    settings(max_examples=examples, deadline=None)(given(spells())(
        lambda events: stays_on_its_way(events, is_elastic)))()


class Watched(World):
    """A world whose q_d, and θ if it has springs, are nowhere faster than a plan."""

    def __init__(self, **options):
        super().__init__(**options)
        self.last = None

    def cycle(self, stamp):
        before = 0 if self.controller is None else self.controller.now
        controller = super().cycle(stamp)
        q, seconds = controller.q[0].copy(), (controller.now - before) * 1e-9
        if self.last is not None:
            assert np.abs(q - self.last).max() < 2.5 * seconds + 1e-3
        if controller.motors is not None:
            assert np.abs(controller.motors.reference[1]).max() < 3.0
        self.last = q
        return controller


def stays_on_its_way(events, is_elastic):
    """Send spells; what lasts before, or after, a silence cannot be told from the truth."""
    world = Watched(model=ELASTIC if is_elastic else None)
    world.states(300)
    is_known = True
    for kind, seconds, share in events:
        count = round(seconds / 0.004)
        if kind == 'silent':
            world.pass_time(seconds)
            is_known = False
        elif kind in FALSE:
            for sent in range(count if is_known else min(count, 100)):
                arm = world.controller.q[0].copy()  # it moves on meanwhile
                world.state(position=FALSE[kind](arm, share, sent))
            world.states(40)
            is_known = True
        else:
            if kind == 'plan' and world.report[0] == 'holding':
                world.plan(b'0.3' if share > 0.5 else b'-0.2')
            world.states(count)
            is_known = is_known or count > 40
    world.settle()
    assert world.said('is held where it is') == 0


def test_positions_that_come_in_another_order_are_asked_about():
    """The advice to restart the driver led the torque of another posture to the arm."""
    world = World()
    world.states(300)
    world.states(100, position=world.controller.q[0][::-1].copy())
    assert world.report[0] == 'fault'
    assert 'in another order: do they still belong to the names?' in world.report[1]


def test_the_place_of_states_that_leap_is_said_and_the_way_back():
    world = World()
    world.states(300)
    arm = world.controller.q[0].copy()
    world.states(100, position=np.zeros(7))
    assert world.report[0] == 'fault'
    assert 'positions of joint2 have jumped faster than any arm can move' in world.report[1]
    with pytest.raises(hd.HodynError, match='joint states are lost'):
        world.plan(b'0.1')
    world.states(2000, position=np.zeros(7))
    np.testing.assert_array_equal(world.controller.q[0], arm)
    world.states(20)
    assert world.report[0] == 'holding'
    np.testing.assert_allclose(world.controller.q[0], HOME)


def test_after_a_silence_another_place_is_believed_once_it_lasts():
    """A driver that starts may send zeros before it has read its hardware."""
    world = World()
    world.states(300)
    arm = world.controller.q[0].copy()
    world.pass_time(1.0)
    world.states(100, position=np.zeros(7))
    assert 'they come from another place than before' in world.report[1]
    world.states(40)
    np.testing.assert_array_equal(world.controller.q[0], arm)
    assert world.report[0] == 'holding'
    world.pass_time(1.0)
    world.states(200, position=arm + 0.5)
    np.testing.assert_allclose(world.controller.q[0], arm + 0.5)


def zeros(world, seconds, **options):
    """Send zeros for a time."""
    world.states(round(seconds / 0.004), position=np.zeros(7), **options)


def a_pause_and_zeros(world):
    world.pass_time(0.7, watched=False)
    zeros(world, 0.4)


def zeros_as_the_clock_is_set_ahead(world):
    world.offset += 1_000_000_000
    zeros(world, 0.4)


def zeros_as_the_clock_is_set_back(world):
    world.offset -= 30_000_000
    zeros(world, 0.4)


def zeros_after_the_clock_was_set_back_by_an_hour(world):
    world.offset -= 3_600_000_000_000
    world.states(300)
    zeros(world, 2.0)


def zeros_twice_after_a_silence(world):
    world.pass_time(1.0)
    zeros(world, 0.1)
    world.states(100)
    zeros(world, 0.3)


def a_silence_and_one_joint_beside(world):
    world.pass_time(1.9)
    world.states(100, position=HOME + 0.35 * (np.arange(7) == 3))


def a_ramp_to_zero(world):
    for share in np.linspace(0.0, 1.0, 50):
        world.state(position=(1.0 - share) * HOME)
    zeros(world, 2.0)


def zeros_with_a_stamp_out_of_order(world):
    zeros(world, 1.0)
    world.offset -= 9_000_000
    world.state(position=np.zeros(7))
    world.offset += 9_000_000
    zeros(world, 1.0)


def zeros_as_the_clock_goes_ahead_in_between(world):
    zeros(world, 1.0)
    world.offset += 10_000_000_000
    zeros(world, 1.0)


def positions_beyond_the_range_and_zeros(world):
    world.states(150, position=np.full(7, 1e4))
    zeros(world, 2.0)


def a_place_beside_a_still_arm(world):
    world.states(100, position=HOME + 0.23 * (np.arange(7) == 0))


def zeros_after_a_state_that_was_repeated_in_a_plan(world):
    world.states(250, velocity=0.35 * (np.arange(7) == 0), position=HOME)
    zeros(world, 2.0)


def zeros_after_velocities_that_are_a_little_off(world):
    world.states(1500, velocity=0.01 * (np.arange(7) == 0), position=HOME)
    zeros(world, 2.0)


@pytest.mark.parametrize('spell', [
    zeros_after_a_state_that_was_repeated_in_a_plan, zeros_after_velocities_that_are_a_little_off,
    a_pause_and_zeros, zeros_as_the_clock_is_set_ahead, zeros_as_the_clock_is_set_back,
    zeros_after_the_clock_was_set_back_by_an_hour, zeros_twice_after_a_silence,
    a_silence_and_one_joint_beside, a_ramp_to_zero, zeros_with_a_stamp_out_of_order,
    zeros_as_the_clock_goes_ahead_in_between, positions_beyond_the_range_and_zeros,
    a_place_beside_a_still_arm])
@pytest.mark.parametrize('state_timeout', [0.0, 1.0])
def test_no_pause_and_no_clock_makes_false_states_right(spell, state_timeout):
    world = Watched(state_timeout=state_timeout)
    world.states(300)
    spell(world)
    np.testing.assert_allclose(world.controller.q[0], HOME, atol=1e-9)
    world.settle()
    np.testing.assert_allclose(world.controller.q[0], HOME, atol=1e-9)


def led(world, speed, seconds):
    """Lead the first joint by hand."""
    arm = world.arm.copy()
    for _ in range(round(seconds / 0.004)):
        arm[0] += 0.004 * speed
        world.state(position=arm.copy(), velocity=speed * (np.arange(7) == 0))
    world.arm = arm


def a_driver_that_repeats_its_last_state(world):
    led(world, 1.0, 0.1)
    world.states(25, position=world.arm.copy(), velocity=np.zeros(7))
    world.arm[0] += 0.1


def a_driver_that_repeats_its_last_state_in_a_plan(world):
    world.plan(b'0.3')
    world.states(150)
    arm, velocity = world.arm.copy(), world.controller.q[1].copy()
    assert np.abs(velocity).max() > 0.1
    for _ in range(235):
        world.state(position=arm, velocity=velocity)
    world.arm = arm + 0.94 * velocity


def an_arm_led_fast_whose_driver_repeats_its_last_state(world):
    led(world, 1.5, 0.1)
    velocity = 1.5 * (np.arange(7) == 0)
    world.states(75, position=world.arm.copy(), velocity=velocity)
    world.arm = world.arm + 0.3 * velocity


def a_joint_that_starts_while_another_one_s_state_is_repeated(world):
    led(world, 1.0, 0.1)
    world.states(125, position=world.arm.copy(), velocity=np.arange(7) == 0)
    world.arm = world.arm + 0.5 * (np.arange(7) == 0) + 0.12 * (np.arange(7) == 3)


def positions_that_stand_still_while_velocities_decay(world):
    led(world, 1.0, 0.1)
    arm = world.arm.copy()
    for k in range(25):
        world.state(position=arm, velocity=0.9 ** k * (np.arange(7) == 0))
    world.arm = arm + 0.17 * (np.arange(7) == 0)


def positions_that_stand_still_while_velocities_have_noise(world):
    led(world, 1.0, 0.1)
    arm, noise = world.arm.copy(), np.random.default_rng(1)
    for _ in range(200):
        world.state(position=arm, velocity=1e-3 * noise.standard_normal(7))
    world.arm = arm + 0.17 * (np.arange(7) == 0)


def a_driver_that_sends_zeros_as_it_ends(world):
    zeros(world, 0.3)
    world.pass_time(5.0)
    world.arm = world.arm + 0.6 * (np.arange(7) == 0)


def a_clock_that_stands_still_as_the_arm_is_led(world):
    for _ in range(250):
        world.offset -= 4_000_000
        world.state()
    world.arm = world.arm + 0.6 * (np.arange(7) == 0)


@pytest.mark.parametrize('spell', [
    a_driver_that_repeats_its_last_state, a_driver_that_repeats_its_last_state_in_a_plan,
    an_arm_led_fast_whose_driver_repeats_its_last_state,
    a_joint_that_starts_while_another_one_s_state_is_repeated,
    positions_that_stand_still_while_velocities_decay,
    positions_that_stand_still_while_velocities_have_noise, a_driver_that_sends_zeros_as_it_ends,
    a_clock_that_stands_still_as_the_arm_is_led])
def test_an_arm_that_was_moved_meanwhile_is_found_again(spell):
    world = World()
    world.states(300)
    spell(world)
    arm = world.arm.copy()
    world.states(200, position=arm)
    assert world.report[0] == 'holding', world.report
    world.states(5, position=arm)
    np.testing.assert_allclose(world.supervisor.measured[0], arm)


def test_the_arm_that_comes_instead_of_the_own_is_named_at_each_loss():
    world, beside = running(), [f'arm {k}' for k in range(70)]
    for _ in range(2):
        for _ in range(300):
            for other in beside:
                world.supervisor.see_other_arm(other, world.at)
            world.state()
        world.supervisor.see_other_arm('cobot', world.at)  # before the loss is noticed
        for _ in range(500):
            world.pass_time(0.004)
            for other in (*beside, 'cobot'):
                world.supervisor.see_other_arm(other, world.at)
            if 'lost' in world.report[1]:
                break
        assert world.report[1].startswith('joint states are lost: cobot; if they are those of')
        world.settle()
    assert len(world.supervisor._others) == 71
    world.pass_time(1.5)
    world.supervisor.see_other_arm('cobot', world.at)
    assert len(world.supervisor._others) == 1  # those that fell silent are forgotten
