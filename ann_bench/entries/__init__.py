"""What an entrant hands in: config.yaml, discovery.

`discovery.choose` finds the entries of a run, `entry.plan_configs` says what to run them with.
"""
