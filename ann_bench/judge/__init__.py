"""Drives a workload through a sandboxed worker: times, validates, scores."""
