"""``python -m hodyn_ros.cli``."""
import sys

from hodyn_ros.cli.main import main

sys.exit(main())
