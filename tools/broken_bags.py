"""Bags that are cut, damaged and lied about, by seeds, and what must hold of reading them.

``python tools/broken_bags.py --seeds 500 --first 1`` reads as many; ``--commands`` sends each
through ``hodyn replay`` and ``hodyn identify`` as well.
"""
import argparse
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
import io
import json
from pathlib import Path
import sqlite3
import struct
import sys
import tempfile

from bag_shapes import CHUNK, SHAPES, TOPIC, mcap_records, write_shape
import lz4.frame
import numpy as np
from recordings import JOINT_STATE, PANDA, TYPES, joint_state, record
import yaml

from hodyn_ros.cli import main
from hodyn_ros.messages.joint_state_bag import JointStateBag, JointStates
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.joint_names import JointNames

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RATE, COUNT = 50, 600
_PAGE = 4096


@dataclass
class BrokenBag:
    """A bag, and what is known of it.

    Attributes
    ----------
    path : Path
        Its folder.
    shape : str
        How it was written.
    damage : str
        What was done to it.
    positions : dict
        Those of the usable joint states that were written, by stamp.
    needed : set of int
        Stamps of those that must be found.
    total : int
        Joint states that were written.
    told : bool
        Whether metadata.yaml says how many there are.

    """

    path: Path
    shape: str
    damage: str
    positions: dict[int, np.ndarray]
    needed: set[int]
    total: int
    told: bool = True


@cache
def _recording():
    return record(rate=RATE, duration=COUNT / RATE)


def break_bag(path: Path, seed: int) -> BrokenBag:
    """Write a bag and damage it, both as the seed says."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    states = [
        joint_state(stamp, _recording().names, *values) for stamp, *values in zip(
            _recording().stamp, _recording().position, _recording().velocity,
            _recording().effort, strict=True)]
    said = []
    if rng.random() < 0.3:
        said = _spoil(states, rng)
    rows = [
        (int(received), bytes(TYPES.serialize_cdr(state, JOINT_STATE)))
        for received, state in zip(_recording().received, states, strict=True)]
    write_shape(path, shape, rows)
    positions = {
        _stamp(state): state.position for i, state in enumerate(states) if i not in said}
    bag = BrokenBag(path, shape, f'{len(said)} messages', positions, set(positions), COUNT)
    damages = (_cut, _flip, _zero, _drop_metadata, _lie, _remove_a_file, _nothing)
    damages[rng.integers(len(damages))](bag, rng)
    if rng.random() < 0.3 and bag.shape != 'split':
        _drop_metadata(bag, rng)
    return bag


def _stamp(state) -> int:
    return state.header.stamp.sec * 10 ** 9 + state.header.stamp.nanosec


def _spoil(states: list, rng: np.random.Generator) -> set[int]:
    """Spoil some messages; return which ones."""
    chosen = {int(i) for i in rng.integers(0, COUNT, 5)}
    for i in chosen:
        state = states[i]
        joint = rng.integers(7)
        match rng.integers(8):
            case 0:
                state.position[joint] = rng.choice([np.nan, np.inf, 1e300, -1e7])
            case 1:
                state.velocity[joint] = rng.choice([np.nan, -np.inf, 1e300])
            case 2:
                state.effort[:] = rng.choice([np.nan, np.inf, 1e300])
            case 3:
                state.position = state.position[:3]
            case 4:
                state.name = ['finger1', 'finger2']
                state.position = state.velocity = state.effort = np.zeros(2)
            case 5:
                state.header.stamp = states[max(0, i - 1)].header.stamp
            case 6:
                stamp = state.header.stamp
                state.header.stamp = replace(stamp, sec=stamp.sec - 3, nanosec=stamp.nanosec + 1)
            case 7:
                state.velocity[:] = 5e-324
    return chosen


def _places(bag: BrokenBag, file: Path) -> dict[int, tuple[int, int]]:
    """Return the bytes of a file that must be whole for each message: stamp → (begin, end)."""
    raw, places = file.read_bytes(), {}
    if file.suffix == '.mcap':
        for at, (code, body) in mcap_records(raw).items():
            if code == CHUNK:
                for stamp in _stamps_in(bag, _unpacked(body)):
                    places.setdefault(stamp, (at, at + 9 + len(body)))
    elif file.suffix == '.db3':
        page = struct.unpack_from('>H', raw, 16)[0]
        database = sqlite3.connect(file)
        for data, in database.execute('SELECT data FROM messages'):
            at = raw.find(data)
            whole = zstd.decompress(data) if bag.shape == 'messages' else data
            for stamp in _stamps_in(bag, whole):
                places.setdefault(stamp, (
                    at // page * page, (at + len(data) - 1) // page * page + page))
        database.close()
    return places


def _stamps_in(bag: BrokenBag, raw: bytes) -> list[int]:
    """Return the stamps of the joint states in some bytes, by their headers."""
    mark = b'\x05\x00\x00\x00base\x00'
    found, at = [], raw.find(mark)
    while at >= 0:
        seconds, nanoseconds = struct.unpack_from('<iI', raw, at - 8)
        stamp = seconds * 10 ** 9 + nanoseconds
        if stamp in bag.positions:
            found.append(stamp)
        at = raw.find(mark, at + 1)
    return found


def _unpacked(body: bytes) -> bytes:
    length, = struct.unpack_from('<I', body, 28)
    kind, packed = body[32:32 + length], body[40 + length:]
    return {b'lz4': lz4.frame.decompress, b'zstd': zstd.decompress, b'': bytes}[kind](packed)


def _begin_of_rows(bag: BrokenBag, file: Path) -> int:
    """Return from where on a damage leaves what stands before it readable."""
    if file.suffix == '.mcap':
        # Topics stand in the first chunk and in the summary.
        return min(end for _, end in _places(bag, file).values()) if bag.shape == 'mcap lz4' else 0
    database = sqlite3.connect(file)
    roots = [root for root, in database.execute('SELECT rootpage FROM sqlite_master')]
    page, = database.execute('PRAGMA page_size').fetchone()
    database.close()
    return max(roots) * page


def _is_in_a_chunk(file: Path, begin: int, end: float) -> bool:
    """Whether a damage leaves the lengths of all records of an MCAP file as they are."""
    return file.suffix == '.mcap' and any(
        code == CHUNK and at + 9 + 48 <= begin and end <= at + 9 + len(body)
        for at, (code, body) in mcap_records(file.read_bytes()).items())


def _storage(bag: BrokenBag, rng: np.random.Generator) -> Path:
    files = sorted(file for file in bag.path.iterdir() if file.suffix != '.yaml')
    return files[rng.integers(len(files))]


def _alter(bag: BrokenBag, file: Path, raw: bytes, begin: int, end: float) -> None:
    """Write altered bytes; what stands before is still needed, after if lengths are whole."""
    if file.suffix == '.zstd':
        bag.needed = set()
    else:
        goes_on = _is_in_a_chunk(file, begin, end)
        before = begin >= _begin_of_rows(bag, file) or (end == np.inf and file.suffix == '.mcap')
        bag.needed -= {
            stamp for stamp, (first, last) in _places(bag, file).items()
            if not (before and (last <= begin or (goes_on and first >= end)))}
    file.write_bytes(raw)


def _cut(bag: BrokenBag, rng: np.random.Generator) -> None:
    file = _storage(bag, rng)
    raw = file.read_bytes()
    at = int(rng.integers(0, len(raw)))
    bag.damage += f', {file.name} cut at {at} of {len(raw)}'
    _alter(bag, file, raw[:at], at, np.inf)


def _flip(bag: BrokenBag, rng: np.random.Generator) -> None:
    file = _storage(bag, rng)
    raw = bytearray(file.read_bytes())
    begin = int(rng.integers(0, len(raw)))
    end = min(len(raw), begin + int(rng.choice([1, 2, 30, 3000])))
    for at in range(begin, end):
        raw[at] ^= int(rng.integers(1, 256))
    bag.damage += f', bytes {begin} to {end} of {file.name} flipped'
    _alter(bag, file, bytes(raw), begin, end)


def _zero(bag: BrokenBag, rng: np.random.Generator) -> None:
    file = _storage(bag, rng)
    raw = bytearray(file.read_bytes())
    begin = int(rng.integers(0, len(raw))) // _PAGE * _PAGE
    end = min(len(raw), begin + _PAGE * int(rng.integers(1, 4)))
    raw[begin:end] = bytes(end - begin)
    bag.damage += f', bytes {begin} to {end} of {file.name} zeroed'
    _alter(bag, file, bytes(raw), begin, end)


def _drop_metadata(bag: BrokenBag, rng: np.random.Generator) -> None:
    bag.damage += ', no metadata.yaml'
    if bag.shape == 'split':  # a recorder that was killed leaves its parts so
        for i, file in enumerate(sorted(bag.path.glob('*.mcap'))):
            file.rename(bag.path / f'part_{i}.mcap')
    (bag.path / 'metadata.yaml').unlink(missing_ok=True)
    bag.told, bag.total = False, COUNT
    del rng


def _lie(bag: BrokenBag, rng: np.random.Generator) -> None:
    file = bag.path / 'metadata.yaml'
    document = yaml.safe_load(file.read_text())
    topic = document['rosbag2_bagfile_information']['topics_with_message_count'][0]
    count = int(rng.choice([0, COUNT - 7, COUNT + 50]))
    topic['message_count'] = count
    file.write_text(yaml.safe_dump(document))
    bag.damage += f', metadata.yaml counts {count}'
    bag.total = max(COUNT, count)


def _remove_a_file(bag: BrokenBag, rng: np.random.Generator) -> None:
    file = _storage(bag, rng)
    if bag.shape != 'split':
        return
    bag.needed -= set(_places(bag, file))
    file.unlink()
    bag.damage += f', no {file.name}'


def _nothing(bag: BrokenBag, rng: np.random.Generator) -> None:
    del bag, rng


def faults_of_reading(bag: BrokenBag) -> list[str]:
    """Read a bag and return what is wrong with what came out."""
    before = _bytes_of(bag.path)
    faults = []
    try:
        with JointStateBag(bag.path, JointNames(PANDA), TOPIC) as source:
            states = JointStates.joined(list(source.blocks()))
    except (HodynError, OSError) as error:
        if bag.needed:
            faults.append(f'refused: {error}')
        return faults
    lost = sum(loss.messages or 0 for loss in source.lost)
    known = all(loss.messages is not None for loss in source.lost)
    missing = bag.needed - set(states.stamp.tolist())
    if 'cut' in bag.damage and any(
            stamp in bag.positions and not np.array_equal(position, bag.positions[stamp])
            for stamp, position in zip(states.stamp.tolist(), states.position, strict=True)) and (
                bag.damage.startswith('0 messages')):
        faults.append('a cut altered messages')
    if len(missing) > _given_up(bag):
        faults.append(f'{len(missing)} of {len(bag.needed)} needed messages are not found')
    true = {
        stamp for stamp, position in zip(states.stamp.tolist(), states.position, strict=True)
        if stamp in bag.needed and np.array_equal(position, bag.positions[stamp])}
    if true != bag.needed - missing:
        faults.append('needed messages are altered')
    found = source.usable + sum(source.unusable.values())
    if found + lost != source.total:
        faults.append(f'{found} + {lost} are not {source.total}')
    if bag.told and (source.total != bag.total or not known):
        faults.append(f'total {source.total}, not {bag.total}')
    # Flipped bytes may make a message one of another topic; only metadata.yaml tells then.
    if not source.lost and found < bag.total and (bag.told or 'flipped' not in bag.damage):
        faults.append(f'{bag.total - found} messages are lost without a word')
    if len(bag.needed) == len(bag.positions) == COUNT and bag.total == COUNT and bag.told and (
            source.lost):
        faults.append(f'lost, though all are there: {source.lost}')
    if _bytes_of(bag.path) != before:
        faults.append('the bag was changed')
    return faults


def faults_of_command(bag: BrokenBag, command: str, output: Path) -> list[str]:
    """Run ``hodyn replay`` or ``hodyn identify`` and return what is wrong with what came out."""
    before = _bytes_of(bag.path)
    said, shown = io.StringIO(), io.StringIO()
    with redirect_stderr(said), redirect_stdout(shown):
        code = main([command, str(bag.path), '--topic', TOPIC, '--output', str(output)])
    lines = said.getvalue().strip().splitlines()
    faults = []
    if _bytes_of(bag.path) != before:
        faults.append('the bag was changed')
    if code == 2:
        if len(lines) != 1:
            faults.append(f'{len(lines)} lines')
        if len(bag.needed) > 100 and 'at least 8 s are needed' not in said.getvalue():
            faults.append(f'refused: {lines}')
        return faults
    if command == 'replay':
        figures = json.loads((output / 'summary.json').read_text())
    else:
        figures, = json.loads((output / 'identification.json').read_text())['recordings']
    lost = sum(entry['messages'] or 0 for entry in figures['samples_lost'])
    left_out = sum(figures['samples_left_out'].values())
    if figures['samples_used'] + left_out + lost != figures['samples_total']:
        faults.append('the counts do not add up')
    if code != (1 if figures['samples_lost'] else 0):
        faults.append(f'exit code {code}')
    if bool(figures['damage']) != bool(code) or figures['complete'] == bool(code):
        faults.append(f'exit code {code}, damage {figures["damage"]}')
    if code and not any('lost' in line for line in lines):
        faults.append(f'exit code 1 and no line of it: {lines}')
    if figures['samples_used'] + left_out < len(bag.needed) - _given_up(bag):
        faults.append('needed messages are not counted')
    return faults


def _given_up(bag: BrokenBag) -> int:
    """Return how many rows before a damaged page a cursor of SQLite gives up as well."""
    return int(len(bag.needed) < len(bag.positions) and any(bag.path.glob('*.db3')))


def _bytes_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def run() -> int:
    """Read bags of many seeds; return 1 when one is not read as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=100)
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--commands', action='store_true')
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            bag = break_bag(Path(folder) / 'bag', seed)
            try:
                faults = faults_of_reading(bag)
                if options.commands:
                    for command in ('replay', 'identify'):
                        faults += faults_of_command(bag, command, Path(folder) / command)
            except Exception as error:  # what the project must never let through
                faults = [repr(error)]
            if faults:
                wrong += 1
                print(f'seed {seed}: {bag.shape}, {bag.damage}: {"; ".join(faults)}', flush=True)
    print(f'{options.seeds} bags, {wrong} read wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(run())
