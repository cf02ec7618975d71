"""Many recordings or plans at once: on the cores of one machine, or on a cluster.

The work is divided by files. A task is a picklable object that is called with the path of a file
and its name, writes the results for this file, and returns an `Outcome`.
"""
