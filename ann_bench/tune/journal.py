"""What an interrupted search has found, so that the same command goes on with what is left of its time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ann_bench.datasets.cache import cache_root
from ann_bench.errors import StorageError
from ann_bench.results.figures import canonical
from ann_bench.tune.model import Measured, Spent


class Journal:
    """A file of JSON lines in the cache, one for each configuration as soon as it is measured.

    Its name is the hash of all that the search depends on, but for its budget: a search is gone on with only where it
    would measure the same. `trials` and `spent` are what was kept before. Raises StorageError where it cannot be
    written.
    """

    def __init__(self, key: Mapping[str, Any]) -> None:
        digest = hashlib.sha256(canonical(key).encode()).hexdigest()
        self._path = cache_root() / ".tune" / f"{digest[:32]}.jsonl"
        self.trials: list[Measured] = []
        self.spent = Spent()
        for line in self._lines():
            self.spent = Spent(**line["spent"])
            if "trial" in line:
                self.trials.append(Measured(**line["trial"]))

    def note(self, spent: Spent, trial: Measured | None = None) -> None:
        """Add a configuration, if there is one, and the time that the search has used by now."""
        line: dict[str, Any] = {"spent": vars(spent), **({"trial": trial.to_json()} if trial else {})}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StorageError(f"{self._path}: cannot be written ({error.strerror or error})") from error

    def remove(self) -> None:
        """Forget it: the search has come to its end."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Those that were written whole: a process may have been killed while it wrote the last one."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        for line in text.splitlines(keepends=True):
            if line.endswith("}\n"):
                yield json.loads(line)
