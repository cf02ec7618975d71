"""Many recordings or plans at once: on the cores of one machine, or on a cluster.

The file is the unit of work. A task is a picklable object that is called with the path of a file
and its name, writes what there is to write of it, and returns an `Outcome`.
"""
