"""`ann-bench schema`: what manifests, entries' configs and result files may hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

PAGES = ("manifest", "config", "bundle")


@click.command("schema")
@click.argument("page", metavar="|".join(PAGES), type=click.Choice(PAGES))
@click.option("--json", "as_json", is_flag=True, help="As JSON Schema, which editors take to check YAML.")
def command(page: str, as_json: bool) -> None:
    """Print the reference of a file format, made from the code that reads it.

    manifest: the YAML file of a data set. config: config.yaml of an entry. bundle: a result file.

    \b
    Example: ann-bench schema manifest
             ann-bench schema config --json > config.schema.json
    """
    click.echo(_schema(page) if as_json else _page(page), nl=as_json)


def _models() -> dict[str, tuple[str, type[BaseModel]]]:
    from ann_bench.datasets.manifest import Manifest
    from ann_bench.entries.config import EntryConfig

    return {"manifest": ("The manifest of a data set", Manifest), "config": ("config.yaml", EntryConfig)}


def _page(page: str) -> str:
    from ann_bench.report.reference import bundle_page, model_page

    return bundle_page() if page == "bundle" else model_page(*_models()[page])


def _schema(page: str) -> str:
    from ann_bench.errors import UsageError

    if page not in _models():
        raise UsageError("a result file is HDF5, which JSON Schema does not describe; leave --json out")
    return json.dumps(_models()[page][1].model_json_schema(), indent=2)
