"""Bags of joint states in the shapes that recorders leave: storages, compressions, parts."""
from collections.abc import Callable
from pathlib import Path
import shutil
import struct
import zlib

import lz4.frame
from recordings import FORMS, JOINT_STATE, TYPES, joint_state
from rosbags.rosbag2 import Writer
import yaml

TOPIC = '/joint_states'
IN_A_CHUNK = 40
SHAPES = ('sqlite3', 'mcap', 'mcap chunks', 'messages', 'file', 'mcap lz4', 'split')
CHUNK, _DATA_END = 0x06, 0x0F


def write_shape(path: Path, shape: str, rows: list) -> None:
    """Write a bag with joint states, those of a gripper, and a topic without messages."""
    form = FORMS[{'mcap lz4': 'mcap', 'split': 'mcap chunks'}.get(shape, shape)]
    if shape == 'split':
        cuts = [rows[:200], rows[200:400], rows[400:]]
        parts = [path.with_name(f'{path.name}_{i}') for i in range(3)]
        for part, some in zip(parts, cuts, strict=True):
            _write_part(part, some, form)
        join(path, parts)
    else:
        _write_part(path, rows, form)
    if shape == 'mcap lz4':
        _recompress(next(path.glob('*.mcap')))


def _write_part(path: Path, rows: list, form: dict) -> None:
    writer = Writer(path, version=8, **(
        {'storage_plugin': form['storage']} if 'storage' in form else {}))
    if 'compression' in form:
        writer.set_compression(*form['compression'])
    gripper = TYPES.serialize_cdr(joint_state(0, ['finger'], [0.0]), JOINT_STATE)
    with writer:
        states = writer.add_connection(TOPIC, JOINT_STATE, typestore=TYPES)
        other = writer.add_connection('/gripper', JOINT_STATE, typestore=TYPES)
        writer.add_connection('/nothing', JOINT_STATE, typestore=TYPES)
        for i, (received, data) in enumerate(rows):
            writer.write(states, received, data)
            if i % 10 == 0:
                writer.write(other, received, gripper)
            if (i + 1) % IN_A_CHUNK == 0 and hasattr(writer.storage, 'close_chunk'):
                writer.storage.close_chunk()


def join(path: Path, parts: list[Path]) -> None:
    """Make one split bag of bags."""
    path.mkdir()
    whole = None
    for part in parts:
        document = yaml.safe_load((part / 'metadata.yaml').read_text())
        its = document['rosbag2_bagfile_information']
        file = its['relative_file_paths'][0]
        (part / file).rename(path / file)
        shutil.rmtree(part)
        if whole is None:
            whole = document
            continue
        joined = whole['rosbag2_bagfile_information']
        joined['relative_file_paths'].append(file)
        joined['files'] += its['files']
        joined['message_count'] += its['message_count']
        for mine, more in zip(joined['topics_with_message_count'],
                              its['topics_with_message_count'], strict=True):
            mine['message_count'] += more['message_count']
    (path / 'metadata.yaml').write_text(yaml.safe_dump(whole))


def _recompress(file: Path) -> None:
    """Rewrite an MCAP file with LZ4, checksums, and no summary at its end."""
    raw = file.read_bytes()
    out = bytearray(raw[:8])
    for code, body in mcap_records(raw).values():
        if code == CHUNK:
            body = repacked(body, 'lz4', lz4.frame.compress)
        out += struct.pack('<BQ', code, len(body)) + body
    out += struct.pack('<BQI', _DATA_END, 4, 0) + struct.pack('<BQQQI', 2, 20, 0, 0, 0) + raw[:8]
    file.write_bytes(out)


def repacked(
        body: bytes, name: str, compress: Callable[[bytes], bytes], *, checksum: bool = True,
) -> bytes:
    """Return the body of a plain chunk compressed, with a checksum or without one."""
    inner = body[40:]
    packed = compress(inner)
    return body[:24] + struct.pack(
        f'<II{len(name)}sQ', zlib.crc32(inner) * checksum, len(name), name.encode(), len(packed),
    ) + packed


def mcap_records(raw: bytes) -> dict[int, tuple[int, bytes]]:
    """Return the records of a whole MCAP file before its summary: place → code and body."""
    found, at = {}, 8
    while raw[at] != _DATA_END:
        size, = struct.unpack_from('<Q', raw, at + 1)
        found[at] = raw[at], raw[at + 9:at + 9 + size]
        at += 9 + size
    return found
