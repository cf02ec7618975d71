"""``hodyn robots``."""
import argparse

from hodyn_ros.cli.options import Commands


def add_parser(commands: 'Commands[argparse.ArgumentParser]') -> None:
    """Add the command."""
    parser = commands.add_parser('robots', help='list the built-in robots')
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the name, joints and mass of each built-in robot."""
    from hodyn_ros.robot.files import load_robot, robot_names

    for name in robot_names():
        robot = load_robot(name)
        mass = sum(body.mass for body in robot.bodies)
        print(f'{name}: {robot.n} joints {robot.joint_names[0]} … {robot.joint_names[-1]}, '
              f'{mass:.2f} kg in motion')
    return 0
