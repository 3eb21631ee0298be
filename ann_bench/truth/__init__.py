"""Exact answers, kept under the hash of all that they depend on."""
