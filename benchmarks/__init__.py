"""Measurements, kept out of the tests: ``python -m benchmarks --help``."""
