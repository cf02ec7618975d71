"""A recording → the motion with its derivatives, and how sure they are."""
