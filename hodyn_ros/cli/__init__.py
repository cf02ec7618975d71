"""The command line: one module per command, composed of functions of the other packages."""
from hodyn_ros.cli.main import main

__all__ = ['main']
