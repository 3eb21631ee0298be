"""A store of wheels that pip reads as an index: what one installation has downloaded or compiled, the next one finds.

    <store>/simple/<project>/index.html, *.whl

pip's own cache will not do: it keeps only what an index says may be kept, and many mirrors say nothing.
This file imports nothing of the project: its text also runs in containers (`python -c TEXT STORE FOLDER`).
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote


def commands(pip: Sequence[str], store: str, folder: str, needs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The two commands that install these needs: bring all wheels into a folder, then install them without an index.

    Of two equal wheels pip takes that of the last index, which is the store. Between the two comes `keep`.
    """
    quiet = ["--no-input", "--progress-bar", "off", "--no-cache-dir"]
    bring = [*pip, "wheel", *quiet, "--wheel-dir", folder, "--extra-index-url", f"file://{quote(store)}/simple", *needs]
    return bring, [*pip, "install", *quiet, "--no-user", "--no-index", "--find-links", folder, *needs]


def keep(store: Path, folder: Path) -> None:
    """Put the wheels of a folder into the store, each whole or not at all; what is there already stays."""
    for wheel in sorted(folder.glob("*.whl")):
        project = store / "simple" / re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
        project.mkdir(parents=True, exist_ok=True)
        if not (project / wheel.name).exists():
            half = project / f"{wheel.name}.{os.getpid()}.part"
            shutil.copyfile(wheel, half)
            half.replace(project / wheel.name)
        _list(project)


def _list(project: Path) -> None:
    """The page of a project, as pip reads it from a folder."""
    names = sorted(path.name for path in project.glob("*.whl"))
    half = project / f"index.html.{os.getpid()}.part"
    half.write_text("".join(f'<a href="{quote(name)}">{html.escape(name)}</a>\n' for name in names), encoding="utf-8")
    half.replace(project / "index.html")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
