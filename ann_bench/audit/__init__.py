"""Probes of what an entry may do that its figures do not show: caches, memorised answers, work that nobody times."""
