"""Wrapper folders of other benchmarks, read as native entries.

definitions.py   what a folder defines: classes, build arguments, query arguments
expand.py        the rules by which one line of a config stands for many
bigann.py        the config.yaml of big-ann-benchmarks
annbenchmarks.py the config.yml of ann-benchmarks
requires.py      what a wrapper imports, and which packages bring it
convert.py       from definitions to entries, in memory or written out
"""
