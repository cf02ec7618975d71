"""What a motion must stay within: the laws that bound it, free of robots."""
