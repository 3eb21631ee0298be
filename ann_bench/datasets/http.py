"""One HTTP request: what it brings, or why it brings nothing and whether to try again.

Proxies and certificates are those of the environment, as everywhere in Python's urllib.
"""

from __future__ import annotations

import functools
import http.client
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ann_bench import __version__
from ann_bench.errors import DownloadError

_TRY_LATER = {408, 425, 429, 500, 502, 503, 504, 507, 520, 521, 522, 523, 524}
_ADVICE = {
    401: "the host wants a login: fetch the file by hand and name it by `file:`",
    403: "the host refuses it: check the address, or fetch the file by hand and name it by `file:`",
    404: "there is no such file: correct the address in the manifest",
    410: "the file is gone: find another address for the manifest",
}


@dataclass(frozen=True)
class Patience:
    """Seconds to wait for a connection and for the next bytes; tries in a row that bring nothing; first pause."""

    connect: float = 20.0
    stall: float = 60.0
    tries: int = 6
    backoff: float = 1.0


class Again(Exception):
    """This try failed, another may not; the message says why."""


@dataclass(frozen=True)
class Reply:
    """What a server answered.

    `length` is the length of the body, `total` that of the whole file, `start` where the body begins in it;
    None where the server does not say. `etag` and `modified` name the version of the file.
    """

    status: int
    length: int | None
    total: int | None
    start: int
    etag: str | None
    modified: str | None
    body: Any

    def read(self, count: int) -> bytes:
        """Up to `count` bytes of the body, empty at its end; raises Again where the connection fails."""
        try:
            block: bytes = self.body.read1(count)
        except TimeoutError as error:
            raise Again("the server stopped sending") from error
        except (OSError, http.client.HTTPException) as error:
            raise Again(f"the connection broke ({_reason(error)})") from error
        return block


@contextmanager
def get(url: str, headers: dict[str, str], patience: Patience) -> Iterator[Reply]:
    """Ask for a URL; the reply's status is 200, 206 or 416 (the file has no such bytes; there is no body).

    Raises DownloadError where asking again is of no use, Again where it may be.
    """
    response = _open(url, headers, patience)
    if response is None:
        yield Reply(416, None, None, 0, None, None, None)
        return
    with response:
        yield _reply(response)


def _open(url: str, headers: dict[str, str], patience: Patience) -> Any:
    """The response, or None where it is 416."""
    own = {"User-Agent": f"ann-bench/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=own | headers)  # noqa: S310 (a manifest admits http and https only)
    try:
        return _opener(patience).open(request, timeout=patience.connect)
    except urllib.error.HTTPError as error:
        with error:
            code = error.code
        if code == 416:
            return None
        if code in _TRY_LATER:
            raise Again(f"the server answered {code}") from error
        advice = _ADVICE.get(code, "check the address in the manifest")
        raise DownloadError(f"{url}: the server answered {code}: {advice}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise DownloadError(
                f"{url}: the certificate of the host is not trusted ({error.reason.verify_message}): "
                "check the clock and the CA certificates of this machine"
            ) from error
        raise Again(f"no connection ({_reason(error.reason)})") from error
    except (OSError, http.client.HTTPException) as error:
        raise Again(f"no answer ({_reason(error)})") from error


def _reply(response: Any) -> Reply:
    length = response.headers.get("Content-Length", "")
    size = int(length) if length.isdigit() else None
    start, total = 0, size
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
        if not found:
            raise Again("the server sent a part without saying which")
        start = int(found[1])
        total = None if found[3] == "*" else int(found[3])
        if size is not None and size != int(found[2]) - start + 1:
            raise Again(f"the server contradicts itself: {size} bytes, but range {found[0]}")
    elif response.status != 200:
        raise Again(f"the server answered {response.status}")
    etag, modified = response.headers.get("ETag"), response.headers.get("Last-Modified")
    return Reply(response.status, size, total, start, etag, modified, response)


def _reason(error: object) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__).splitlines()[0]


def _opener(patience: Patience) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Http(patience.stall), _Https(patience.stall))


class _Patient(http.client.HTTPConnection):
    """Has one timeout to connect, another while it reads."""

    def __init__(self, host: str, *, stall: float, **options: Any) -> None:
        super().__init__(host, **options)
        self._stall = stall

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._stall)


class _PatientTls(http.client.HTTPSConnection):
    """The same over TLS."""

    def __init__(self, host: str, *, stall: float, **options: Any) -> None:
        super().__init__(host, **options)
        self._stall = stall

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._stall)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, stall: float) -> None:
        super().__init__()
        self._stall = stall

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(_Patient, stall=self._stall), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, stall: float) -> None:
        super().__init__()
        self._stall = stall

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        context = ssl.create_default_context()
        return self.do_open(functools.partial(_PatientTls, stall=self._stall, context=context), req)
