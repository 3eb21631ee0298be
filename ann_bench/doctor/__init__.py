"""Is this machine fit to measure? Small checks of what disturbs measurements, and what all of it adds up to."""
