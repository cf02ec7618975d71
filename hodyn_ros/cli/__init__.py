"""The command line: doors, thin, that compose what the rooms offer."""
from hodyn_ros.cli.main import main

__all__ = ['main']
