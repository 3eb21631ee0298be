"""Entries that are programs, as processes of this machine: where they are looked for, and what is missing."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from ann_bench.entries.entry import Entry


def search_path(python: Path | None = None) -> str:
    """The PATH of workers: the programs of the Python whose packages were checked (this one, by default) come first."""
    return os.pathsep.join([str((python or Path(sys.executable)).parent), os.environ.get("PATH", os.defpath)])


def program_lacks(entry: Entry, python: Path | None = None) -> str:
    """Why the program of an entry cannot be started here, in one line that says what helps; "" where it can."""
    if entry.config.command is None:
        return ""
    program = entry.config.command[0]
    path = entry.folder / program
    if "/" not in program:
        if shutil.which(program, path=search_path(python)):
            return ""
        hint = f"write ./{program} for the one in its folder" if path.is_file() else "install it, or use its container"
        return f"the program {program} is not on PATH; {hint}"
    if not path.is_file():
        return f"there is no program {program} in its folder; compile it there, or use its container (--sandbox docker)"
    if not os.access(path, os.X_OK):
        return f"the program {program} may not be executed; try: chmod +x {shlex.quote(str(path))}"
    return ""
