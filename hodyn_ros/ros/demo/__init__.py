"""``hodyn demo``: runs the node and a simulated arm in separate processes, and sums the run up."""
