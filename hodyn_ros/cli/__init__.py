"""The command line: one module a command, which composes what the other packages offer."""
from hodyn_ros.cli.main import main

__all__ = ['main']
