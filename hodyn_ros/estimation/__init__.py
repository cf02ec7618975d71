"""From a recording to the motion, its derivatives and their uncertainty."""
