from processes import printed_by


def test_a_replay_without_report_imports_neither_pictures_nor_plans():
    """They take more time than a short recording."""
    code = (
        'import sys; import hodyn_ros.replay.replay_bag, hodyn_ros.replay.report; '
        'print([name for name in ("matplotlib", "hodyn_ros.plans", "scipy.interpolate", '
        '"rosbags.typesys.stores.ros2_jazzy") if name in sys.modules])')
    assert printed_by(code) == '[]\n'
