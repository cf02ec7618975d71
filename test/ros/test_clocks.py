"""Simulated clocks that stand still and jump, bags that loop, and states without a stamp."""
import re
import time

from live_motions import assert_continuous, assert_no_step, cycles, move, table
import numpy as np
import pytest
from rosgraph_msgs.msg import Clock

pytestmark = pytest.mark.live

START = 50.0
PERIOD = 0.004


class Simulator:
    """Joint states with a time of their own, in their stamps, on a clock that it shows, or both.
    """

    def __init__(self, node, home, *, stamped: bool = True, shown: bool = True) -> None:
        self.node = node
        self.home = home
        self.time = START
        self._stamped = stamped
        self._clock = node.publisher(Clock, '/clock') if shown else None

    def show(self) -> None:
        """Publish the time."""
        if self._clock is None:
            return
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(round(self.time * 1e9), 10**9)
        self._clock.publish(message)

    def state(self) -> bool:
        """Publish time and state until they are answered; return whether they were."""
        key = round(self.time * 1e9)
        for _ in range(100):
            self.show()
            self.node.send_state(self.time if self._stamped else 0.0, self.home)
            if self.node.spin_until(
                    lambda: all(key in found for found in self.node.answers.values()), 0.1):
                return True
        return False

    def step(self) -> None:
        """Go on by a period."""
        self.time += PERIOD
        assert self.state(), self.node.log

    def step_until(self, done, states: int = 5000) -> None:
        """Go on until something is so."""
        for _ in range(states):
            if done():
                return
            self.step()
            time.sleep(1e-3)  # what is waited for is the work of another process
        raise AssertionError(self.node.log)

    def have_motion(self, seconds: float, by: float = 0.2, share: float = 0.5) -> list[float]:
        """Send a plan, and go on to a share of it; return its goal."""
        accepted = self.node.log.count('trajectory accepted')
        goal = move(self.node, self.home, by, seconds)
        self.step_until(lambda: self.node.log.count('trajectory accepted') > accepted)
        for _ in range(round(share * seconds / PERIOD)):
            self.step()
        assert self.node.states[-1] == 'following'
        return goal


@pytest.mark.parametrize('stamped', [True, False])
def test_a_simulated_clock_that_stands_still_and_goes_on(live, home, stamped):
    node = live('use_sim_time:=true')
    simulator = Simulator(node, home, stamped=stamped)
    assert simulator.state(), node.log
    goal = simulator.have_motion(1.0)
    # While the time stands still, states are no news, and nothing moves.
    count = len(node.messages['torque'])
    node.send_state(simulator.time if stamped else 0.0, home)
    node.wait_log('a stamp is not newer than the last')
    node.spin(0.3)
    assert len(node.messages['torque']) == count
    for _ in range(200):
        simulator.step()
    assert node.states[-1] == 'holding'
    assert 'stopping' not in node.states
    stamps, values = table(node, 'torque')
    np.testing.assert_allclose(values[-1][0], goal, atol=1e-12)
    # Each instant of the simulation has one answer, with its stamp; before it has heard of the
    # clock, the node's time is 0.
    stamps = stamps[stamps > 0.0]
    assert len(stamps) > 300
    np.testing.assert_allclose(np.diff(stamps), PERIOD, rtol=0, atol=1e-9)
    assert_no_step(node)


def test_a_pause_that_is_too_long_is_a_silent_driver(live, home, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'use_sim_time:=true', 'state_timeout:=1.0')
    simulator = Simulator(node, home)
    assert simulator.state(), node.log
    # It is at its fastest when the node notices.
    simulator.have_motion(8.0, 0.8, 3 / 8)
    assert node.spin_until(lambda: node.states[-1] == 'fault', 30.0), node.log
    assert 'stopping' in node.states
    node.settle()
    held = table(node, 'torque')[1][-1]
    assert not held[1].any()
    # Of what the node has published by itself the simulation knows nothing: its time goes on.
    for found in node.answers.values():
        assert max(found) > simulator.time * 1e9 + 0.5e9
    before = cycles(node)
    for found in node.answers.values():
        found.clear()
    for _ in range(50):
        simulator.step()
    assert 'joint states are back' in node.log
    assert node.states[-1] == 'holding'
    after = cycles(node)
    np.testing.assert_array_equal(after[1][-1][0], held[0])
    goal = simulator.have_motion(2.0, 0.3)
    simulator.step_until(lambda: node.states[-1] == 'holding')
    np.testing.assert_allclose(table(node, 'torque')[1][-1][0], goal, atol=1e-12)
    after = cycles(node)
    assert_continuous(*(np.concatenate(pair) for pair in zip(before, after, strict=True)))


@pytest.mark.parametrize('shown', [True, False])
def test_a_bag_that_loops_leaves_no_step_and_drops_the_plans_that_wait(live, home, shown):
    node = live(f'use_sim_time:={str(shown).lower()}')
    simulator = Simulator(node, home, shown=shown)
    assert simulator.state(), node.log
    laps = []
    for by in (0.2, -0.2):
        goal = simulator.have_motion(2.0, by)
        # A plan that is due later belongs to the lap as well.
        accepted = node.log.count('trajectory accepted')
        move(node, home, 0.3, 1.0, start=simulator.time + 20.0)
        simulator.step_until(lambda n=accepted: node.log.count('trajectory accepted') > n)
        laps.append(cycles(node))
        assert np.abs(laps[-1][1][-1, 1]).max() > 0.05
        for found in node.answers.values():
            found.clear()
        simulator.time = START
        simulator.show()
        node.send_state(START, home)  # a single state with an older stamp may be late
        node.spin(0.05)
        simulator.step()
        node.spin_until(lambda: 'was set back by' in node.reason, 5.0)
        # Each cause is logged at most once a second.
        node.wait_log('plans that wait for their start are dropped')
        simulator.step_until(lambda: node.states[-1] == 'holding')
        assert 'stopping' not in node.states
        np.testing.assert_allclose(table(node, 'torque')[1][-1][0], goal, atol=1e-12)
    goal = simulator.have_motion(1.0, 0.05)
    simulator.step_until(lambda: node.states[-1] == 'holding')
    laps.append(cycles(node))
    np.testing.assert_allclose(laps[-1][1][-1, 0], goal, atol=1e-12)
    assert all(len(stamps) > 100 for stamps, _ in laps)
    assert_continuous(*(np.concatenate(parts) for parts in zip(*laps, strict=True)))


@pytest.mark.parametrize(('jump', 'said'), [
    (-100.0, r'the clock of the joint states was set back by (99\.9|100\.)'),
    (3600.0, r'(3599\.|3600\.)\d+ s are missing')])
def test_a_clock_that_is_set_just_after_a_hold_up_is_said_as_well(live, home, jump, said):
    """It was taken for more of the hold-up, which a driver of Python has all the time."""
    node = live('max_time_step:=0.01', 'state_timeout:=10.0')
    node.drive(60.0, home, until=lambda: node.states[-1] == 'holding')
    node.drive(0.2, home)
    time.sleep(0.2)
    node.drive(60.0, home, until=lambda: 'are missing between cycles' in node.log)
    node.drive(60.0, home, ahead=jump, until=lambda: bool(re.search(said, node.log)))
    assert node.spin_until(lambda: bool(re.search(said, node.reason)), 5.0)
    assert 'stopping' not in node.states


def test_states_without_a_stamp_are_taken_at_the_clock_of_the_machine(live, home):
    node = live()
    before = time.time()

    def drive_until(done) -> None:
        end = time.monotonic() + 60.0
        while not done():
            assert time.monotonic() < end, node.log
            node.send_state(0.0, home)
            node.spin(0.005)

    drive_until(lambda: len(node.messages['torque']) > 10)
    goal = move(node, home)
    drive_until(lambda: 'following' in node.states)
    drive_until(lambda: node.states[-1] == 'holding')
    stamps, values = table(node, 'torque')
    assert node.log.count('have no stamp: the time of their arrival is taken') == 1
    assert before < stamps[0]
    assert stamps[-1] < time.time()
    assert (np.diff(stamps) > 0.0).all()
    np.testing.assert_allclose(values[-1][0], goal, atol=1e-12)
    assert_no_step(node)
