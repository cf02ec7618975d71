"""Timings of hodyn_ros beside those of its peers; see README.md."""
