"""The command line as a program: help, what is missing, signals, and unknown words."""
import signal
import sys
import threading

from processes import printed_by
import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main, robots


@pytest.mark.parametrize('missing', ['builtin_interfaces', 'rclpy', 'mujoco'])
def test_what_is_not_installed_is_named_with_the_command_that_brings_it(
        hodyn, monkeypatch, missing):
    for name in list(sys.modules):
        if name.startswith(('hodyn_ros.ros', f'{missing}.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    message = hodyn.refuses('demo')
    assert missing in message
    assert "pip install 'hodyn_ros[ros,sim]'" in message


@pytest.mark.parametrize('missing', ['rosbags', 'lz4', 'backports.zstd'])
def test_what_pip_alone_has_is_named_with_what_to_do(hodyn, monkeypatch, missing):
    from hodyn_ros.cli import info

    def run(options):
        raise ModuleNotFoundError(f'No module named {missing!r}', name=missing)

    monkeypatch.setattr(info, '_figures', run)
    assert f"No module named '{missing}'; pip install {missing}, in the env" in hodyn.refuses(
        'info', 'panda')


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit, match='0'):
        main(['--version'])
    assert capsys.readouterr().out == f'hodyn {hd.__version__}\n'


def test_help_imports_nothing_that_takes_long():
    code = ('import sys, hodyn_ros.cli.main; '
            'print([m for m in ("numpy", "numba", "scipy", "rich") if m in sys.modules])')
    assert printed_by(code) == '[]\n'


@pytest.fixture
def handlers(monkeypatch):
    """Return who handles the signals while a command runs, filled as it does."""
    found = {}

    def run(_):
        found.update({number: signal.getsignal(number) for number in ENDS})
        return 0
    monkeypatch.setattr(robots, 'run', run)
    before = {number: signal.getsignal(number) for number in ENDS}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


ENDS = (signal.SIGTERM, signal.SIGHUP)


def test_a_signal_ends_a_command_in_order(hodyn, handlers):
    def mine(number, frame):
        pass
    signal.signal(signal.SIGTERM, mine)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    hodyn('robots')
    assert handlers[signal.SIGTERM] is mine
    with pytest.raises(SystemExit, match=str(128 + signal.SIGHUP)):
        handlers[signal.SIGHUP](signal.SIGHUP, None)
    assert signal.getsignal(signal.SIGTERM) is mine
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_command_runs_in_any_thread(handlers):
    """Where no handlers of signals can be set."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(['robots'])))
    thread.start()
    thread.join()
    assert codes == [0]
    assert handlers[signal.SIGTERM] is signal.SIG_DFL


def test_a_word_unknown_is_told_with_the_usage_of_its_command(hodyn):
    error = hodyn.rejects('info', 'panda', '--payloads', 'link7', '1')
    assert error.startswith('usage: hodyn info')
    assert error.endswith(
        "unrecognized arguments: --payloads link7 1; did you mean '--payload'?\n")
    assert hodyn.rejects('info', 'panda', '--xyz', '1').endswith('arguments: --xyz 1\n')
