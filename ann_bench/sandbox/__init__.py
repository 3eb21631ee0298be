"""Where a worker runs: one small interface, one file per kind."""
