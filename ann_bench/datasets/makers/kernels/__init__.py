"""Compiled loops of makers. They import numba, which takes a second, so worlds import them when rows are made."""
