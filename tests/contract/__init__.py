"""Contracts: import these to test a loss or a kernel of your own."""
