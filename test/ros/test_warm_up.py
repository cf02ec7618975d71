"""What is compiled is compiled before the node is active, never in a cycle."""
import sys

from geometry_msgs.msg import WrenchStamped
from live_node import NOTING_COMPILATION, to_stamp
from node_process import arguments
import pytest
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.live

NOW = 1000.0


@pytest.mark.parametrize('parameters', [
    (), ('gravity_in_output:=false', 'friction_in_output:=false', 'limit_output:=true'),
    (f'spring_stiffness:={[5000.0] * 7}', f'motor_inertia:={[0.5] * 7}',
     'evaluate_at:=measurement', 'flatness_poles:=20.0', 'max_motor_feedback:=[5.0]')])
def test_an_active_node_compiles_nothing(live, home, parameters):
    node = live(command=[sys.executable, '-c', NOTING_COMPILATION, *arguments(
        'state_timeout:=0.5', 'stream_timeout:=0.2', *parameters)])
    assert 'COMPILES' in node.log
    node.first_answer(NOW, home)
    motors = node.publisher(JointState, '/feedforward/motor_states')
    for k in range(1, 40):
        state = JointState(name=node.joints, position=home, velocity=[0.0] * 7)
        state.header.stamp = to_stamp(NOW + 0.004 * k)
        motors.publish(state)
        assert node.answer(NOW + 0.004 * k, home, velocity=[0.0] * 7) is not None
    node.send_trajectory((4.0, [x + 0.2 for x in home]))
    t = node.send_states_until_log('trajectory accepted', NOW + 0.2, home) + 0.1
    wrench = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    message = WrenchStamped()
    message.header.frame_id = 'link7'
    message.wrench.force.z = 5.0
    wrench.publish(message)
    assert node.set(payload_link='link7', payload_mass=1.0) == ''
    for _ in range(50):
        t += 0.01
        assert node.answer(t, home, velocity=[0.0] * 7) is not None
    # A plan in mid-motion, then silence in it: the stop; then a stream, which falls silent too.
    node.send_trajectory((2.0, home))
    accepted = node.log.count('trajectory accepted')
    for _ in range(200):
        t += 0.002
        assert node.answer(t, home) is not None
        if node.log.count('trajectory accepted') > accepted:
            break
    for _ in range(50):
        t += 0.01
        assert node.answer(t, home) is not None
    assert node.spin_until(lambda: node.states[-1] == 'fault', 20.0), node.log
    node.let_stream()
    stream = node.publisher(JointState, '/feedforward/reference')
    node.drive(30.0, home, until=lambda: node.states[-1] == 'holding')
    for velocity in ([], [0.0] * 7):
        for _ in range(20):
            stream.publish(JointState(name=node.joints, position=home, velocity=velocity))
            node.drive(0.01, home)
        node.drive(30.0, home, until=lambda: node.states[-1] == 'holding')
    assert 'streaming' in node.states
    assert node.end() == 0
    active = node.log[node.log.index('waiting: for a joint state'):]
    assert 'COMPILES' not in active, active[active.index('COMPILES'):][:500]
