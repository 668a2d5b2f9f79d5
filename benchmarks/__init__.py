"""Races against the best peers: `python -m benchmarks --list`."""
