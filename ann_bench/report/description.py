"""A data set in words and figures, for a terminal."""

from __future__ import annotations

from ann_bench.truth.profile import Profile

#: How values are called in the list, and what a picture shows of them.
_SPREADS = {
    "norms": "length of a row",
    "query_norms": "length of a query",
    "nonzeros": "nonzeros of a row",
    "query_nonzeros": "nonzeros of a query",
    "tags_a_row": "tags of a row",
    "tags_a_query": "tags of a query",
    "tag_counts": "rows that hold a tag",
    "selectivity": "share of rows that pass",
    "nearest": "row to its nearest row",
    "query_nearest": "query to its nearest row",
    "mahalanobis": "row to the base",
    "query_mahalanobis": "query to the base",
}


def description(profile: Profile) -> list[str]:
    """The figures as lines that fit a terminal of 100 columns."""
    found = profile.to_json()
    shape = (
        f"{found['rows']:,} x {found['dim']:,} {found['dtype']}, {found['metric']}, {found['bytes'] / 2**20:,.1f} MiB"
    )
    learn = f", {found['learn_count']:,} to learn from" if found["learn_count"] else ""
    lines = [f"{found['name']}: {shape}; {found['query_count']:,} {found['queries']} queries{learn}"]
    if "vocabulary" in found:
        used = found["quantiles"].get("tag_counts")
        lines.append(f"tags: {found['vocabulary']:,}" + ("" if used else ", none of them used"))
    levels = ("least", "1 %", "median", "mean", "99 %", "most")
    lines.append(f"{'':<24}" + "".join(f"{level:>11}" for level in levels))
    for name, text in _SPREADS.items():
        if name in found["quantiles"]:
            values = found["quantiles"][name]
            lines.append(f"{text:<24}" + "".join(f"{values[level]:>11,.4g}" for level in levels))
    pairs = (
        ("intrinsic dimension", "intrinsic_dimension", "query_intrinsic_dimension"),
        ("contrast (mean / nearest distance)", "contrast", "query_contrast"),
    )
    for text, base, queries in pairs:
        if found[base] is not None and found[queries] is not None:
            lines.append(f"{text}: {found[base]:.3g} around rows, {found[queries]:.3g} around queries")
    places = (("nearest_ratio", "from its nearest row"), ("mahalanobis_ratio", "from the middle of the base"))
    lines += [
        f"a query lies {found[key]:.2f} x as far {place} as a row does"
        for key, place in places
        if found[key] is not None
    ]
    sample = found["sample"]
    lines.append(f"(lengths and distances: of {sample['rows']:,} rows and {sample['queries']:,} queries)")
    return lines
