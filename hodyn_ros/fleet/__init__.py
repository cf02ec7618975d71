"""Many recordings or plans at once: on the cores of one machine, or on a cluster.

The file is the unit of work. A task is a picklable object that is called with the path of a file
and its name, writes the results of the file, and returns an `Outcome`.
"""
