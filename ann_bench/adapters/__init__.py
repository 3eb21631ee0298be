"""Adapters: classes that run inside the worker and make a native entry of what was written for somebody else.

A config.yaml may name one, `class: ann_bench.adapters.<module>.<Class>`; the entry's folder then needs no class of its
own. Like `worker`, they need numpy and scipy, no more.
"""
