"""Tuning: for every entry the same time, to search the space that its config.yaml declares.

A search goes through the judge and the sandbox like any other measurement, on queries that no result is measured with,
or on one half of them; what it chose is then measured on queries that it has not seen.
"""
