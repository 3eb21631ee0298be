"""Reference pages in Markdown, from the schemas themselves, so that a page cannot say something else than the code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from ann_bench.results.layout import VERSION
from ann_bench.results.schema import GROUPS, MANIFEST

_SCALARS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


_ANYTHING = "anything that JSON knows"

Row = tuple[str, ...]


def model_page(title: str, model: type[BaseModel]) -> str:
    """The keys of a YAML file that this model checks: one section for the file, one for each mapping within it.

    A key's text is the docstring of its attribute.
    """
    schema = model.model_json_schema()
    parts = [f"# {title}", "", _GENERATED, "", *_section(schema)]
    for name, inner in schema.get("$defs", {}).items():
        if "properties" in inner:
            parts += ["", f"## {name}", "", *_section(inner)]
    return "\n".join(parts) + "\n"


def bundle_page() -> str:
    """Where everything lies in a result file."""
    parts = ["# A result file", "", _GENERATED, "", *_BUNDLE.split("\n")]
    for group, places in GROUPS.items():
        rows = [(f"`{group}/{one.name}`" if group else f"`{one.name}`", one.kind, one.what) for one in places]
        parts += ["", f"## {_HEADINGS[group]}", "", *_table(("name", "type, shape", ""), rows)]
    keys = [(f"`{name}`", what) for name, what in MANIFEST.items()]
    parts += ["", "## The keys of `manifest`", "", *_table(("key", ""), keys)]
    return "\n".join(parts) + "\n"


_HEADINGS = {
    "": "Answers, times and scores",
    "steps": "Every call",
    "control": "The control batches",
    "asks": "Queries one by one",
}
_BUNDLE = f"""Version {VERSION}. HDF5, attributes `format` and `version`; [results](../results.md) has an example.

The first answer is `f["answers"][: q * k].reshape(q, k)` with `q, k = f["answer_shapes"][0]`. Within a radius, where
k is -1, query `i` of it has `f["answers"][o[i]:o[i + 1]]` with `o = np.append(0, np.cumsum(f["answer_counts"][:q]))`.
In files of version 1 the steps are in the manifest. The group `control` is missing where no control batch came back,
and `asks` where whole batches were put."""
_GENERATED = "*This page is made from the code by `ann-bench schema`; do not edit it.*"


def _section(schema: Mapping[str, Any]) -> list[str]:
    required = set(schema.get("required", ()))
    rows = [(f"`{name}`", _kind(one), _meaning(one, name in required)) for name, one in schema["properties"].items()]
    more = ["", "Other keys are the generator's own."] if schema.get("additionalProperties") is True else []
    return [*schema.get("description", "").split("\n"), "", *_table(("key", "value", ""), rows), *more]


def _meaning(one: Mapping[str, Any], required: bool) -> str:
    text = " ".join(one.get("description", "").split())
    default = one.get("default")
    if required:
        return f"**Required.** {text}".strip()
    return text if default in (None, "", [], {}) else f"{text} Default: `{_plain(default)}`.".strip()


def _kind(one: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in one:
        name = one["$ref"].rsplit("/", 1)[-1]
        return _ANYTHING if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if kinds := one.get("anyOf") or one.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(each) for each in kinds if each.get("type") != "null"))
    if "enum" in one:
        return ", ".join(f"`{_plain(value)}`" for value in one["enum"])
    if "items" in one:
        return f"list of {_kind(one['items'])}"
    if isinstance(inner := one.get("additionalProperties"), Mapping):
        return f"mapping of names to {_kind(inner)}"
    return _SCALARS.get(one.get("type", ""), _ANYTHING) + _bounds(one)


def _bounds(one: Mapping[str, Any]) -> str:
    signs = (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"))
    found = [f"{word} {one[sign]}" for sign, word in signs if sign in one]
    return f", {', '.join(found)}" if found else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(head: Row, rows: Iterable[Row]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
