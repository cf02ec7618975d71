"""Lay siege to `hodyn replay` of many recordings: rate, memory, numbers, kills, a cluster.

    python tools/fleet_siege.py --recordings 200 [--real BAG] [--folder DIR] [CHECK ...]

makes recordings of a Panda simulated in MuJoCo, of different lengths, some of them truncated,
empty or of another robot, and one of a real arm, if given. Checks (all by default):

numbers   2 processes give what the command gives bag by bag, bit for bit
rate      messages a second by 1 and by 2 processes in turn, with the load beside
memory    of each worker at its 20th and its last file
kills     killed by SIGKILL at ten random moments and resumed: what an undisturbed run gives
dask      the same by two Dask workers, one of them killed by SIGKILL in the middle
"""
import argparse
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
import io
import os
from pathlib import Path
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from fleet_tasks import contents, done_in, workers_of
import numpy as np
from recordings import Recording, messages, motion, write

from hodyn_ros import load_robot
from hodyn_ros.cli import main as main_of_hodyn
from hodyn_ros.feedforward import FeedForward

CHECKS = ('numbers', 'rate', 'memory', 'kills', 'dask')
STEP, RATE, SIMULATED = 1e-3, 250, 60.0  # s, Hz, s
SHORTEST = 2.0  # s of a recording


def simulate(robot):
    """Return a motion under feed-forward and feedback: time, q, q̇ and torque, (T, n)."""
    from hodyn_ros.simulation.rigid_arm import SimulatedArm

    time = np.arange(0.0, SIMULATED, STEP)
    wanted = motion(time, robot, bandwidth=0.5)
    plant = SimulatedArm(robot, wanted[0, 0])
    plant.qd[:] = wanted[0, 1]
    feedforward = FeedForward(robot).torque(wanted)[:, 0]
    stiff = 5.0 * robot.limits.effort
    found = np.zeros((3, len(time), robot.n))
    for t, q in enumerate(wanted):
        torque = feedforward[t] + stiff * (q[0] - plant.q) + 0.05 * stiff * (q[1] - plant.qd)
        found[:, t] = plant.q, plant.qd, torque
        plant.step(torque, STEP)
    every = round(1.0 / (RATE * STEP))
    return time[::every], *found[:, ::every]


def make_recordings(folder, count, longest, seed, real):
    """Write recordings: of each 20 one is truncated, one empty, one of another robot."""
    rng = np.random.default_rng(seed)
    robot = load_robot('panda')
    time, q, qd, torque = simulate(robot)
    for i in range(count):
        place = folder / f'day{i % 7}' / f'bag{i:03}'
        place.parent.mkdir(parents=True, exist_ok=True)
        if i == 0 and real:
            shutil.copytree(real, place)
            continue
        if i % 20 == 7:
            place.with_suffix('.mcap').touch()
            continue
        length = int(RATE * rng.uniform(SHORTEST, longest))
        first = rng.integers(0, len(time) - length)
        part = slice(first, first + length)
        stamp = np.round(1e9 * (time[part] + 86400.0 * i + 1.7e9)).astype(np.int64)
        shape = (length, robot.n)
        drift = 0.2 * i / count
        names = [f'elbow{j}' if i % 20 == 13 else f'panda_{name}'
                 for j, name in enumerate(robot.joint_names)]
        write(place, {'/joint_states': messages(Recording(
            stamp, stamp + 200_000, names, q[part] + 1e-5 * rng.standard_normal(shape),
            qd[part] + 1e-3 * rng.standard_normal(shape),
            torque[part] + drift + 0.05 * rng.standard_normal(shape), None, None))})
        if i % 20 == 3:
            file = place / f'{place.name}.db3'
            file.write_bytes(file.read_bytes()[:int(0.6 * file.stat().st_size)])


def command(source, out, *options):
    return [sys.executable, '-m', 'hodyn_ros', 'replay', str(source), '--output', str(out),
            *options]


def differences(one, other):
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def run(arguments):
    """Run a command to its end; return its wall time and processor time, s."""
    before, begin = os.times(), time.monotonic()
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    after = os.times()
    assert ended.returncode in (0, 1), ended.stderr
    return time.monotonic() - begin, (
        after.children_user + after.children_system - before.children_user
        - before.children_system)


def check_numbers(source, work, options):
    out = work / 'numbers'
    run(command(source, out, '--jobs', '2', *options))
    compared = 0
    for report in sorted((out / 'reports').rglob('summary.json')):
        name = str(report.parent.relative_to(out / 'reports'))
        alone = work / 'alone'
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert main_of_hodyn(
                command(source / name, alone, '--parquet', *options, '--force')[3:]) in (0, 1)
        motion_file = out / 'motion/robot=panda' / f'bag={name.replace("/", "%2F")}'
        for one, other in (
                (alone / 'summary.json', report),
                (alone / 'computed/computed.mcap', report.parent / 'computed/computed.mcap'),
                (alone / 'computed.parquet', motion_file / 'computed.parquet')):
            assert one.read_bytes() == other.read_bytes(), f'{name}: {one.name} differs'
        compared += 1
    print(f'numbers: {compared} bags bit for bit as one by one')


def check_rate(source, work, options, rounds=3):
    import pyarrow.parquet as pq

    walls = {1: [], 2: []}
    for _ in range(rounds):
        for jobs in (1, 2):
            out = work / 'rate'
            shutil.rmtree(out, ignore_errors=True)
            load = os.getloadavg()[0]
            wall, cpu = run(command(source, out, '--jobs', str(jobs), *options))
            table = pq.read_table(out / 'summary.parquet')
            total = sum(dict(zip(
                table['bag'].to_pylist(), table['samples_total'].to_pylist(),
                strict=True))[bag] or 0 for bag in set(table['bag'].to_pylist()))
            walls[jobs].append(wall)
            print(
                f'rate: {jobs} processes, {wall:.1f} s, {total / wall:,.0f} messages/s, '
                f'{cpu:.1f} s of processor ({cpu / wall:.2f} cores); load before {load:.1f}',
                flush=True)
    ratio = statistics.median(walls[1]) / statistics.median(walls[2])
    print(f'rate: 2 processes are {ratio:.2f} × as fast (medians of {rounds})')


def resident(pid):
    """Return the resident and the largest resident memory of a process, MB."""
    lines = dict(
        line.split(':', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines())
    return tuple(int(lines[key].split()[0]) / 1024 for key in ('VmRSS', 'VmHWM'))


def check_memory(source, work, options):
    out = work / 'memory'
    with subprocess.Popen(
            command(source, out, '--jobs', '1', *options), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as process:
        seen, told = {}, 0
        while process.poll() is None:
            count = done_in(out)[0]
            with suppress(OSError, KeyError):  # it has just ended
                for worker in workers_of(process.pid):
                    seen[count] = resident(worker)
            if count >= told + 20:
                told = count
                print(f'memory: {seen[max(seen)][0]:.0f} MB after {count} files', flush=True)
            time.sleep(0.02)
    at_20 = seen[min(count for count in seen if count >= 20)]
    last = seen[max(seen)]
    print(
        f'memory: {at_20[0]:.0f} MB at the 20th file, {last[0]:.0f} MB at the {max(seen)}th, '
        f'{last[1]:.0f} MB at most')


def check_kills(source, work, options, seed, kills):
    rng = np.random.default_rng(seed)
    undisturbed = work / 'undisturbed'
    wall, _ = run(command(source, undisturbed, '--jobs', '2', *options))
    expected = contents(undisturbed)
    out, moments = work / 'killed', []
    for _ in range(kills):
        moment = rng.uniform(0.0, 0.35 * wall)  # most of them meet a fleet at work
        with subprocess.Popen(
                command(source, out, '--jobs', '2', *options), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.kill()
        moments.append(f'{moment:.1f} s ({done_in(out)[0]} done)')
    run(command(source, out, '--jobs', '2', *options))
    wrong = differences(expected, contents(out))
    left = list(out.rglob('.hodyn-unfinished-*'))
    assert not wrong, wrong[:5]
    assert not left, left[:5]
    print(f'kills: at {", ".join(moments)}; then as undisturbed, {len(expected)} files')


def check_dask(source, work, options):
    file, out = work / 'scheduler.json', work / 'dask'
    undisturbed = work / 'undisturbed'
    if not undisturbed.exists():
        run(command(source, undisturbed, '--jobs', '2', *options))
    with ExitStack() as stack:

        def start(*arguments):
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, '-m', 'dask', *arguments, '--scheduler-file', str(file)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            stack.callback(process.terminate)
            return process

        start('scheduler')
        nannies = [start('worker', '--nthreads', '1') for _ in range(2)]
        fleet = stack.enter_context(subprocess.Popen(
            command(source, out, '--scheduler', str(file), *options),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        killed, some = None, done_in(undisturbed)[0] // 3
        while fleet.poll() is None:
            if killed is None and done_in(out)[0] >= some:
                killed, = workers_of(nannies[0].pid)
                os.kill(killed, 9)
            time.sleep(0.05)
        said = fleet.stderr.read()
    assert killed is not None
    assert fleet.returncode in (0, 1), said
    wrong = differences(contents(undisturbed), contents(out))
    assert not wrong, wrong[:5]
    print('dask: one of two workers killed in the middle; all as by processes of this machine')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('checks', nargs='*', metavar='CHECK', help=', '.join(CHECKS))
    parser.add_argument('--recordings', type=int, default=200)
    parser.add_argument('--longest', type=float, default=20.0, help='s of a recording')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--kills', type=int, default=10)
    parser.add_argument('--real', type=Path, help='the bag of a real Panda, to be among them')
    parser.add_argument(
        '--folder', type=Path, help='where the recordings are kept; what is there is taken')
    parser.add_argument('--report', action='store_true', help='with reports, which takes longer')
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f'unknown: {", ".join(sorted(unknown))}')
    more = () if options.report else ('--no-report',)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = options.folder or work / 'recordings'
        if not source.exists():
            make_recordings(
                source, options.recordings, options.longest, options.seed, options.real)
        print(f'{options.recordings} recordings', flush=True)
        for check in options.checks or CHECKS:
            arguments = (options.seed, options.kills) if check == 'kills' else ()
            globals()[f'check_{check}'](source, work, more, *arguments)


if __name__ == '__main__':
    main()
