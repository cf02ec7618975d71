"""Units in the headers of CSV plans, compared with the robot's joints."""
from known_recordings import lifted_arm
import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main


@pytest.mark.parametrize('command', [
    ('check',), ('annotate', '--output', 'out.csv'), ('retime', '--output', 'out.csv')])
@pytest.mark.parametrize(('header', 'fault'), [
    ('lift [rad],shoulder,elbow,tilt', "column 'lift [rad]': lift is prismatic, m"),
    ('lift [m],shoulder [rad],elbow [m],tilt', "column 'elbow [m]': elbow is revolute, rad"),
    ('lift [m],shoulder [rad],elbow [rad],tilt (rad)', '')])
def test_a_unit_that_contradicts_a_joint_is_refused(
        tmp_path, monkeypatch, capsys, command, header, fault):
    monkeypatch.chdir(tmp_path)
    hd.save_robot(lifted_arm(), 'arm.yaml')
    (tmp_path / 'limits.yaml').write_text('joint_limits:\n' + ''.join(
        f'  {joint}: {{has_velocity_limits: true, max_velocity: 1.0, '
        'has_acceleration_limits: true, max_acceleration: 3.0}\n'
        for joint in lifted_arm().joint_names))
    (tmp_path / 'plan.csv').write_text(
        f'time,{header}\n0,0.2,0,0,0\n2,0.3,0.5,0.5,0.5\n4,0.2,0,0,0\n')
    found = main([command[0], 'plan.csv', '--robot', 'arm.yaml', '--limits', 'limits.yaml',
                  *command[1:]])
    said = ' '.join(' '.join(capsys.readouterr()).split())
    assert (found != 0) == bool(fault), said
    assert fault in said
