"""``python -m hodyn_ros``."""
import sys

from hodyn_ros.cli.main import main

if __name__ == '__main__':
    sys.exit(main())
