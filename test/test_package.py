"""What a user gets installed: files in their places, and commands that start."""
from importlib import metadata, resources
import inspect
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from xml.etree import ElementTree

from imports import imported
from processes import printed_by
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators import MotorSide
from hodyn_ros.common import version

ROOT = Path(__file__).parent.parent


def hodyn(*arguments):
    # Not from the checkout's folder, where python would find the package before the installed one.
    return subprocess.run(
        [sys.executable, '-m', 'hodyn_ros', *arguments],
        capture_output=True, text=True, cwd=tempfile.gettempdir())


def installed():
    try:
        return metadata.distribution('hodyn_ros')
    except metadata.PackageNotFoundError:
        pytest.skip('hodyn_ros is not installed: run from a checkout on the path')


def test_the_manifest_and_the_installed_package_agree_on_the_version():
    manifest = ElementTree.parse(ROOT / 'package.xml').getroot()
    assert manifest.findtext('version') == installed().version


def test_little_is_imported_before_signals_are_heard():
    """A Ctrl-C while the version was read from the package's metadata was a traceback."""
    code = ('import sys, hodyn_ros.ros.executables; '
            'print(*(name for name in sys.modules if name.startswith("hodyn_ros")))')
    assert printed_by(code).split() == ['hodyn_ros', 'hodyn_ros.ros', 'hodyn_ros.ros.executables']


def test_a_checkout_that_is_not_installed_knows_its_version(monkeypatch, tmp_path):
    manifest = ElementTree.parse(ROOT / 'package.xml').getroot()

    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, 'version', not_installed)
    assert version.found(ROOT / 'package.xml') == manifest.findtext('version')
    other = tmp_path / 'package.xml'
    assert version.found(other) == 'unknown'
    for text in ('no manifest', '<package><name>other</name><version>9</version></package>'):
        other.write_text(text)
        assert version.found(other) == 'unknown'


def test_robots_and_type_marker_are_package_data():
    folder = resources.files('hodyn_ros')
    assert folder.joinpath('py.typed').is_file()
    assert folder.joinpath('robot', 'builtin', 'panda.yaml').is_file()


def installed_files():
    """Return the paths that an install laid, pip's or colcon's, whose record lists nothing."""
    distribution = installed()
    if 'editable' in (distribution.read_text('direct_url.json') or ''):
        pytest.skip('an editable install has no share folder')
    if distribution.read_text('RECORD') is not None:
        return {str(distribution.locate_file(path).resolve()) for path in distribution.files}
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        if Path(prefix, 'share', 'hodyn_ros').is_dir():
            return {str(path) for path in Path(prefix).rglob('*')}
    pytest.skip('neither installed by pip nor by colcon')


def test_an_install_brings_what_ros_looks_for():
    files = installed_files()
    for wanted in (
        'share/ament_index/resource_index/packages/hodyn_ros',
        'share/hodyn_ros/package.xml',
        'share/hodyn_ros/config/panda.yaml',
        'share/hodyn_ros/config/sros2/feedforward.policy.xml',
        'share/hodyn_ros/launch/feedforward.launch.py',
        'lib/hodyn_ros/feedforward',
    ):
        assert any(path.endswith(wanted) for path in files), wanted


def test_setup_runs_through_a_link_as_colcon_has_it(tmp_path):
    """`colcon build --symlink-install` runs a link to setup.py in a folder without README.md."""
    (tmp_path / 'setup.py').symlink_to(ROOT / 'setup.py')
    result = subprocess.run(
        [sys.executable, 'setup.py', '--name', '--classifiers'], capture_output=True,
        text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith('hodyn_ros\n')
    assert 'Programming Language :: Python :: 3.10' in result.stdout


@pytest.mark.slow
def test_a_source_release_is_the_whole_repository(tmp_path):
    """Half a test folder cannot run."""
    tracked = subprocess.run(
        ['git', 'ls-files'], capture_output=True, text=True, cwd=ROOT).stdout.split()
    if 'setup.py' not in tracked:
        pytest.skip('no checkout: nothing says what belongs in a release')
    source = tmp_path / 'source'
    for name in tracked:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, 'setup.py', '-q', 'sdist', '--dist-dir', str(tmp_path)], check=True,
        cwd=source, capture_output=True)
    with tarfile.open(next(tmp_path.glob('*.tar.gz'))) as archive:
        released = {name.partition('/')[2] for name in archive.getnames()}
    aside = {name for name in tracked if name.startswith('.github/') or '.gitignore' in name}
    assert not set(tracked) - aside - released


def test_each_package_that_is_imported_is_in_the_manifest():
    """What is missing there is not installed where rosdep installs."""
    manifest = ElementTree.parse(ROOT / 'package.xml').getroot()
    declared = {one.text for one in manifest.iterfind('exec_depend')}
    found = {
        name.split('.')[0]
        for path in (*ROOT.glob('launch/*.py'), *ROOT.glob('hodyn_ros/ros/**/*.py'))
        for name in imported(path)}
    ros = {name for name in found if re.fullmatch(r'rclpy|launch\w*|ament_\w+|\w+_msgs', name)}
    assert 'ament_index_python' in ros
    assert not ros - declared
    assert 'python3-numba' in declared
    assert not [name for name in declared if name.endswith('-pip')]  # such are never released


def test_no_address_is_given_that_nobody_owns():
    """Whoever registers it would be who answers there."""
    texts = [
        path for path in (*ROOT.glob('*.*'), *ROOT.glob('docs/*.md'), *ROOT.glob('.github/**/*'))
        if path.suffix in ('.md', '.xml', '.cff', '.yml', '.yaml', '.py', '.toml', '.cfg', '.rst')]
    assert len(texts) > 30
    for path in texts:
        found = re.search(r'github\.(com|io)/[\w-]*hodyn|hodyn\.github', path.read_text('utf-8'))
        assert not found, path.name


def test_what_is_told_in_several_files_is_told_alike():
    manifest = ElementTree.parse(ROOT / 'package.xml').getroot()
    read = {name: (ROOT / name).read_text('utf-8') for name in (
        'setup.py', 'pixi.toml', 'CITATION.cff', 'SECURITY.md', '.pre-commit-config.yaml')}
    assert f'\nversion: {manifest.findtext("version")}\n' in read['CITATION.cff']
    bounds = re.search(r"'numba(>=[\d.,<]+)'", read['setup.py'])[1]
    assert f'numba = "{bounds}"' in read['pixi.toml']
    for tool in re.findall(r'\[(\w+==[\d.]+)\]', read['.pre-commit-config.yaml']):
        assert f"'{tool}'" in read['setup.py']


@pytest.mark.slow
@pytest.mark.parametrize(
    'command', [
        'demo', 'replay', 'identify', 'excite', 'check', 'retime', 'annotate', 'generate',
        'info', 'robots'])
def test_every_command_explains_itself(command):
    result = hodyn(command, '--help')
    assert result.returncode == 0
    assert 'usage: hodyn' in result.stdout


@pytest.mark.slow
def test_robots_lists_the_built_in_ones():
    result = hodyn('robots')
    assert result.returncode == 0
    assert 'panda: 7 joints joint1 … joint7' in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize('arguments', [
    ('demo', '--robot', 'nobody'),
    ('demo', '--duration', '0.5'),
    ('replay', 'nowhere'),
])
def test_wrong_input_is_one_line_and_code_2(arguments, tmp_path):
    result = hodyn(*arguments, '--output', str(tmp_path / 'out'))
    assert result.returncode == 2
    assert result.stderr.startswith(f'hodyn {arguments[0]}: ')
    assert result.stderr.count('\n') == 1


def test_launch_files_describe_the_node():
    pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS installation')
    from launch import LaunchContext
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    for name in ('feedforward', 'demo'):
        description = get_launch_description_from_python_launch_file(
            str(ROOT / 'launch' / f'{name}.launch.py'))
        names = [argument.name for argument in description.get_launch_arguments()]
        assert 'robot' in names
        assert description.visit(LaunchContext()) is not None


def test_configuration_files_name_parameters_that_exist():
    pytest.importorskip('rclpy', reason='rclpy is not installed: no ROS 2 here')
    from hodyn_ros.ros import parameter_file
    from hodyn_ros.ros.parameters import TABLE

    paths = sorted((ROOT / 'config').glob('*.yaml'))
    assert len(paths) >= 4
    for path in paths:
        given = parameter_file.read(path, '/feedforward', lambda *_: '')
        for name, value in given.items():
            default = TABLE[name].default
            assert isinstance(value, list if isinstance(default, tuple) else type(default)), (
                f'{path.name}: {name}')


@pytest.mark.parametrize('name', sorted(hd.__all__))
def test_each_public_name_is_there_when_it_is_asked_for(name):
    assert getattr(hd, name) is not None
    assert name in dir(hd)


def test_help_shows_argument_types_by_their_names():
    """Not the unions of numpy that they stand for, a screenful each."""
    for function in (
            hd.inverse_dynamics, hd.load_robot, hd.Robot.with_payload, hd.energy,
            MotorSide.evaluate, MotorSide.along):
        signature = str(inspect.signature(function))
        assert 'Union[' not in signature
        assert 'numpy._typing' not in signature
        assert len(signature) < 600
    assert "q: 'ArrayLike'" in str(inspect.signature(hd.inverse_dynamics))
