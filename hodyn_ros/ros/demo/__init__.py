"""``hodyn demo``: the node and a simulated arm in processes of their own, and what they did."""
