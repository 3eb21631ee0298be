"""`ann-bench sign`: sign result files with an ssh or GPG key."""

from __future__ import annotations

from pathlib import Path

import click

from ann_bench.errors import AnnBenchError, UsageError

EPILOG = """\b
Examples:
  ann-bench sign results --key ~/.ssh/id_ed25519
  ann-bench sign results/filtered/yfcc-10M/mine/0123....h5 --key alice@example.org
"""


@click.command("sign", epilog=EPILOG, short_help="Sign result files with an ssh or GPG key.")
@click.argument("places", metavar="FILE|FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--key", required=True, help="The file of an ssh key, or the name of a GPG key.")
@click.option("--force", is_flag=True, help="Make signatures anew that are there already.")
def command(places: tuple[Path, ...], key: str, force: bool) -> int:
    """Sign result files: a signature beside each, made by ssh-keygen (.sig) or gpg (.asc).

    The results themselves are not changed. `ann-bench verify --signed-by` checks the signatures, and so do the tools:
    `ssh-keygen -Y verify -n ann-bench ...`, `gpg --verify FILE.asc FILE`. Exit code 0 when all are signed, 1 when a
    damaged one was left out.
    """
    from ann_bench.results.signature import sign

    failed = 0
    for bundle in _bundles(places):
        try:
            click.echo(sign(bundle, key, again=force))
        except UsageError:
            raise
        except AnnBenchError as error:
            click.echo(f"not signed: {error}", err=True)
            failed += 1
    return 1 if failed else 0


def _bundles(places: tuple[Path, ...]) -> list[Path]:
    from ann_bench.results.store import Store

    found: list[Path] = []
    for place in places:
        if place.is_dir():
            found += Store(place).paths()
        elif place.is_file():
            found.append(place)
        else:
            raise UsageError(f"{place}: there is no such file or folder")
    return found
