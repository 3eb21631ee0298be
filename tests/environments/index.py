"""Tiny wheels written for a test, and an index on this machine that serves them and counts what is fetched."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

#: What stands in for numpy and scipy, where an environment is only looked at: pip and Python see no difference.
STAND_INS = {
    ("numpy", "99.0"): {"numpy/__init__.py": "__version__ = '99.0'\n"},
    ("scipy", "99.0"): {"scipy/__init__.py": "", "scipy/sparse/__init__.py": ""},
}


def wheel(
    folder: Path, name: str, version: str, files: dict[str, str] | None = None, requires: tuple[str, ...] = ()
) -> Path:
    """A wheel of a module (or of these files) that knows its version."""
    folder.mkdir(parents=True, exist_ok=True)
    module = re.sub("[-.]", "_", name).lower()
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    content = {
        **(files or {f"{module}.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        record = ""
        for file, text in content.items():
            archive.writestr(file, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{file},sha256={digest},{len(text.encode())}\n"
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return path


def stand_ins(folder: Path) -> Path:
    """The folder, with wheels that stand in for numpy and scipy."""
    for (name, version), files in STAND_INS.items():
        wheel(folder, name, version, files)
    return folder


class Index:
    """A simple index over a folder of wheels; `fetched` counts the files that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched: Counter[str] = Counter()
        self.hangs = False
        self.asked = threading.Event()

    def page(self, project: str) -> str | None:
        """The page of a project, as pip reads it."""
        wheels = [
            path.name for path in self.folder.glob("*.whl") if path.name.startswith(project.replace("-", "_") + "-")
        ]
        return "".join(f'<a href="/files/{quote(name)}">{name}</a>\n' for name in wheels) or None


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[Index, str]]:
    """An index over the folder, and its address."""
    index = Index(folder)
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.set()
            if index.hangs:
                done.wait(60)
            kind, _, name = unquote(self.path).strip("/").partition("/")
            if kind == "files":
                index.fetched[name] += 1
                self._answer((index.folder / name).read_bytes(), "application/octet-stream")
            elif (page := index.page(name)) is not None:
                self._answer(page.encode(), "text/html")
            else:
                self.send_error(404)

        def _answer(self, body: bytes, kind: str) -> None:
            """Without a word on how long it holds, as many mirrors do: pip's own cache keeps none of it."""
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield index, f"http://127.0.0.1:{server.server_address[1]}/simple"
        finally:
            done.set()
            server.shutdown()
            thread.join()
