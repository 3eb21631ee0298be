"""What newer versions there are of what entries pin, as the index of pip tells it for this Python."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ann_bench.entries.entry import Entry
from ann_bench.entries.pins import applying, pinned_version
from ann_bench.errors import DownloadError
from ann_bench.progress import Progress, silent

#: So many questions at a time.
_AT_ONCE = 4
#: pip asks again after a pause; a machine without a network is to hear of it soon.
_OPTIONS = ("--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15")
_SECONDS = 120
_UNREACHABLE = re.compile(
    r"Retrying|Could not fetch URL|ConnectionError|Cannot connect|ProxyError|SSLError|40[137] |5\d\d "
)
_NO_SUCH = re.compile(r"No matching distribution found|no releases available", re.IGNORECASE)


@dataclass(frozen=True)
class Pinned:
    """A package that entries pin at one version: the newest one (None: the index has none for this Python), and the
    entries whose `requires` keeps them from it."""

    package: str
    version: str
    newest: str | None
    entries: tuple[str, ...]
    held_back: tuple[str, ...] = ()

    @property
    def outdated(self) -> bool:
        """Whether there is a newer one."""
        return self.newest is not None and Version(self.newest) > Version(self.version)


def pinned(entries: Sequence[Entry], progress: Progress = silent) -> list[Pinned]:
    """Every package that these entries pin, by name and version, with the newest version that the index offers.

    Raises DownloadError, one line, where the index cannot be reached.
    """
    users: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        for pin in applying(entry.config.pins):
            using = users.setdefault((canonicalize_name(pin.name), pinned_version(pin)), [])
            if all(other.folder != entry.folder for other in using):
                using.append(entry)
    newest = _ask(sorted({package for package, _ in users}), progress)
    return [_row(package, version, newest[package], users[package, version]) for package, version in sorted(users)]


def _row(package: str, version: str, newest: str | None, using: Iterable[Entry]) -> Pinned:
    names = sorted(using, key=_name)
    held = [entry for entry in names if newest is not None and not _allows(entry, package, newest)]
    return Pinned(package, version, newest, tuple(map(_name, names)), tuple(map(_name, held)))


def _name(entry: Entry) -> str:
    return f"{entry.folder.parent.name}/{entry.name}" if entry.source == "algorithms" else entry.name


def _allows(entry: Entry, package: str, version: str) -> bool:
    needs: list[Requirement] = [
        need for need in applying(entry.config.requires) if canonicalize_name(need.name) == package
    ]
    return all(need.specifier.contains(version, prereleases=True) for need in needs)


def _ask(packages: Sequence[str], progress: Progress) -> dict[str, str | None]:
    done = 0

    def one(package: str) -> str | None:
        nonlocal done
        found = newest_version(package)
        done += 1
        progress("ask the index", done, len(packages))
        return found

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        try:
            return dict(zip(packages, threads.map(one, packages), strict=True))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def newest_version(package: str, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> str | None:
    """The newest release that pip would install here; None where the index has none. Raises DownloadError."""
    words = [sys.executable, "-m", "pip", "index", "versions", *_OPTIONS, package]
    try:
        said = run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise DownloadError(f"{package}: the index of pip does not answer within {_SECONDS} s; try again") from error
    if said.returncode == 0:
        first = said.stdout.splitlines()[0] if said.stdout else ""
        if found := re.fullmatch(r"\S+ \((\S+)\)", first.strip()):
            return found[1]
    errors = [line.strip() for line in said.stderr.splitlines() if line.strip()]
    trouble = next((line for line in errors if _UNREACHABLE.search(line)), None)
    if trouble is None and any(_NO_SUCH.search(line) for line in errors):
        return None
    reason = trouble or (errors[-1] if errors else "pip ended without a word")
    raise DownloadError(f"{package}: the index of pip cannot be asked ({reason[:300]}); see PIP_INDEX_URL and proxies")
