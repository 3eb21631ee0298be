"""Virtual environments for entries whose requirements this Python does not meet, and what pip knows of newer versions.

    <cache>/.environments/<key>-<pid>-<random>/    one environment; `ann-bench.json` in it says that it is whole
    <cache>/.wheels/                               what pip has downloaded and compiled, for all of them

The key is a hash of all that the content depends on: entries with the same needs share an environment.
"""
