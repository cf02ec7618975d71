"""``hodyn demo``: options that have no effect, and robots that it cannot run, are refused."""
from commands import refusal
import pytest
import yaml


@pytest.mark.parametrize('option', [
    ('--bandwidth', '50'), ('--speed', '0.5'), ('--robustness',),
])
def test_options_of_the_comparison_are_refused_without_it(capsys, option):
    assert f'{option[0]} goes with --compare' in refusal(capsys, 'demo', *option)


@pytest.mark.parametrize(('options', 'message'), [
    (('--actuator', 'rigid', '--stiffness', '500'), 'rigid actuators have none'),
    (('--actuator', 'sea', '--stiffness', '0'), 'stiffness 0: must be above 0'),
    (('--actuator', 'vsa', '--stiffness', '0'), 'must be above 0'),
    (('--stiffness', '500'), '--stiffness goes with --actuator sea or vsa'),
])
@pytest.mark.parametrize('compare', [(), ('--compare',)])
def test_a_stiffness_without_springs_or_of_none_is_refused(capsys, options, message, compare):
    said = refusal(capsys, 'demo', *compare, *options)
    assert message in said or (compare and 'give --actuator' in said)


@pytest.mark.parametrize('law', [{'law': 'rigid'}, {'law': 'spring', 'stiffness': 1000.0}])
def test_a_motor_without_inertia_is_not_compared(capsys, tmp_path, law):
    motors = [{'inertia': 0.5}, {'inertia': 0.0}]
    (tmp_path / 'motors.yaml').write_text(yaml.safe_dump({'actuators': {
        f'joint{i + 1}': {**law, 'motor': motor} for i, motor in enumerate(motors)}}))
    said = refusal(
        capsys, 'demo', '--compare', '--robot', 'twolink', '--actuators', 'motors.yaml',
        '--duration', '0.5')
    assert said.startswith("hodyn demo: motor 'joint2' has no inertia")
    assert not (tmp_path / 'hodyn_demo').exists()


def test_a_comparison_is_not_retimed(capsys):
    assert '--retime goes without --compare' in refusal(
        capsys, 'demo', '--compare', '--actuator', 'sea', '--retime')


def test_a_floating_base_is_refused_before_anything_starts(capsys, tmp_path):
    message = refusal(capsys, 'demo', '--robot', 'aerial_manipulator')
    assert 'floating base' in message
    assert not any(tmp_path.iterdir())
