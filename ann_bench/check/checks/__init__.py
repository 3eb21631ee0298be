"""The checks that there are, in the order in which they run."""

from __future__ import annotations

from ann_bench.check.checks import answers, conduct, first, ranges, streams, tags

CHECKS = (
    first.config,
    first.ordinary,
    first.metrics,
    first.dtypes,
    answers.one_row,
    answers.few_rows,
    answers.finds,
    answers.twins,
    answers.zeros,
    answers.extremes,
    answers.large_k,
    answers.strides,
    tags.tags,
    tags.no_match,
    streams.stream,
    streams.reuse,
    streams.insert_after_delete,
    streams.replace,
    streams.delete_all,
    ranges.ranges,
    conduct.arguments,
    conduct.repeats,
    conduct.save_load,
    conduct.threads,
    conduct.at_once,
    conduct.memory,
    conduct.inputs,
)
