"""Wrappers of other benchmarks, written for these tests, through the real pipeline."""
