"""What the node says and refuses when it starts and is configured."""
import pytest

pytestmark = pytest.mark.live

PATIENCE = 60.0


@pytest.mark.parametrize(('parameters', 'line'), [
    ((), 'with gravity (by default), with friction (by default): its controller must add neither'),
    (('gravity_in_output:=true', 'friction_in_output:=false'),
     'with gravity, without friction: its controller must add friction'),
    (('gravity_in_output:=false', 'friction_in_output:=false'),
     'without gravity, without friction: its controller must add gravity and friction'),
])
def test_what_the_torque_contains_is_said_at_activation(live, parameters, line):
    """A robot that adds gravity as well has it twice."""
    node = live('robot:=twolink', *parameters, ready=False)
    node.wait_log(f"torque for robot 'twolink' {line}", PATIENCE)


def test_a_robot_file_is_named_at_start_only_and_never_quoted(live, tmp_path):
    """Any file that the node may read could be named by whoever may set parameters."""
    secret = tmp_path / 'secret.yaml'
    secret.write_text('root:hunter2:19000\n')
    node = live(f'robot:={secret}', 'auto_activate:=false', ready=False)
    other = tmp_path / 'other.yaml'
    other.write_text('password: hunter2\n')
    for path in (str(other), '/etc/passwd', 'other.yaml'):
        assert 'a file is read at start only' in node.set(robot=path)
    assert not node.change('configure')
    assert node.set(robot='twolink') == ''
    assert node.change('configure')
    assert 'a file is read at start only' in node.set(robot=str(other))
    assert node.change('cleanup')
    # That of the start may be taken again.
    assert node.set(robot=str(secret)) == ''
    assert not node.change('configure')
    assert node.log.count(str(secret)) == 2
    assert 'hunter2' not in node.log
    assert 'Traceback' not in node.log
