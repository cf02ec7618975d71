"""The error for what is the user's to mend, the case that callers tell apart, and a remedy."""


class HodynError(ValueError):
    """Wrong input: a file, a message, an argument, a parameter.

    Its text says what is wrong, where, and what to do. The entry points (command line, node,
    planning process) turn it into one line; anything else that reaches them is a bug of this
    package and shows as one.
    """


class NoKnownJointError(HodynError):
    """A message names none of the robot's joints: a gripper's, say."""


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra: from the package index, and from a clone."""
    return f"pip install 'hodyn_ros[{extra}]', or pip install '.[{extra}]' in a clone"
