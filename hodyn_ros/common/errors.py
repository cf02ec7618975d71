"""The error for what is the user's to mend, and the one case of it that callers tell apart."""


class HodynError(ValueError):
    """Wrong input: a file, a message, an argument, a parameter.

    Its text says what is wrong, where, and what to do. The entry points (command line, node,
    planning process) turn it into one line; anything else that reaches them is a bug of this
    package and shows as one.
    """


class NoKnownJointError(HodynError):
    """A message names none of the robot's joints: a gripper's, say."""
