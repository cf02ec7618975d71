"""Limits of motions, independent of robots: quantities, margins, peaks, velocity bounds."""
