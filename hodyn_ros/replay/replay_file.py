"""Replays a recording from its file, and writes the report."""
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hodyn_ros.common.output_files import replacing
from hodyn_ros.estimation.locked_joints import dependent_but_elsewhere
from hodyn_ros.estimation.open_recording import open_recording
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.replay_bag import Replay, replay
from hodyn_ros.replay.report import CONTENTS, write_report, write_summary
from hodyn_ros.robot import Robot


def replay_file(
    bag: Path, robot: Robot, output: Path, *, topic: str | None = None, prefix: str = '',
    bandwidth: float | None = None, csv: bool = False, parquet: Path | None = None,
    report: bool = True, payload: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None, force: bool = False,
) -> Replay:
    """Replay a bag, write its report and files, and return the results.

    `bag` is the folder of a rosbag2, or a single ``.db3`` or ``.mcap`` file; `topic` is needed if
    several topics have joint states; `prefix` precedes the joint names of one arm among several.
    `output` is a folder, see `replay.report.CONTENTS`; `parquet`, the file for the motion and its
    torques, is absolute or relative to it. Without `report`, no page and no plots are made.
    `progress` is called with the number of messages in the bag, and the number done since the last
    call. The other arguments are those of `replay_bag.replay`. HodynError or OSError: nothing can
    be read from the bag, or something cannot be written.
    """
    moving_locked = dependent_but_elsewhere(bag, robot, topic=topic, prefix=prefix)
    with (
        open_recording(bag, robot, prefix=prefix, topic=topic) as source,
        replacing(output, CONTENTS, force=force) as folder,
    ):
        folder.mkdir()
        result = replay(
            source, FeedForward(robot), folder,
            None if progress is None else partial(progress, source.total), csv=csv,
            parquet=None if parquet is None else folder / parquet, bandwidth=bandwidth,
            payload=payload, moving_locked=moving_locked, force=force)
        if report:
            write_report(result, robot, folder)
        else:
            write_summary(result, folder / 'summary.json')
    return result
