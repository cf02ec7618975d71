"""The one error for what is the user's to mend."""


class HodynError(ValueError):
    """Wrong input: a file, a message, an argument, a parameter.

    Its text says what is wrong, where, and what to do. The doors (command line, node, planning
    process) turn it into one line; anything else that reaches them is a bug of this package and
    shows as one.
    """
