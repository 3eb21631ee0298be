"""The way to the container engine: Docker's, or Podman's through the same API."""

from __future__ import annotations

import errno
import grp
import http.client
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ann_bench.errors import EngineError

if TYPE_CHECKING:
    import docker

#: An engine answers a ping in milliseconds; one that takes longer hangs.
PING_SECONDS = 3.0
#: For all else but builds, which take what they take.
REQUEST_SECONDS = 120

#: So many requests at a time keep their connections; builds run in parallel.
CONNECTIONS = 100

_SOCKET = "/var/run/docker.sock"
_OR_ELSE = "or use --sandbox process"
#: Names of this machine that every machine has.
HERE = ("localhost", "127.0.0.1", "::1")
_FULL = re.compile("no space left on device|disk quota exceeded", re.IGNORECASE)
DISK_FULL = "the engine's disk is full; make room (ann-bench clean, docker system prune)"


def connect() -> docker.DockerClient:
    """A client of the engine that DOCKER_HOST names, else of the one at the usual socket.

    Quick where there is none, and where it hangs. Raises EngineError, in one line that says what to do.
    """
    address = os.environ.get("DOCKER_HOST", "").strip() or f"unix://{_SOCKET}"
    kind, _, rest = address.partition("://")
    if kind == "unix" and rest:
        version = _ping(rest if rest.startswith("/") else f"/{rest}")
        return _client(address, version)
    if kind in ("tcp", "http", "https", "ssh"):
        return _over_tcp(address)
    raise EngineError(
        f"DOCKER_HOST={_without_password(address)} is no address of an engine: write unix:///path/to/docker.sock, "
        "or unset it"
    )


def is_podman(client: docker.DockerClient) -> bool:
    """Whether the engine is Podman's, which takes Docker's calls but not all of its words."""
    with engine_errors("asking the container engine what it is"):
        parts = client.version().get("Components") or ()
    return any("podman" in str(part.get("Name", "")).lower() for part in parts)


def _over_tcp(address: str) -> docker.DockerClient:
    shown = _without_password(address)
    try:
        url = urlsplit(address)
        host, _ = url.hostname, url.port
    except ValueError as error:
        raise EngineError(f"DOCKER_HOST={shown} is no address of an engine ({error})") from error
    if url.scheme == "ssh" or host not in HERE:
        raise EngineError(
            f"DOCKER_HOST={shown} is an engine on another machine, which cannot see the data sets of this one: "
            "unset it and start an engine here, or run ann-bench there"
        )
    return _client(address, None)


def _client(address: str, version: str | None) -> docker.DockerClient:
    """The SDK's client; it asks for the version itself where none is known, which is then the ping."""
    import docker

    environment = {**os.environ, "DOCKER_HOST": address}
    patience = REQUEST_SECONDS if version else PING_SECONDS
    with engine_errors(f"connecting to {_without_password(address)}"):
        client = docker.from_env(version=version, timeout=patience, environment=environment, max_pool_size=CONNECTIONS)
    client.api.timeout = REQUEST_SECONDS
    return client


def _ping(path: str) -> str | None:
    """The version of the API that the engine at this socket speaks, where it says so.

    Without the SDK, whose import takes longer than all the rest: most machines without an engine end here.
    """
    connection = http.client.HTTPConnection("localhost", timeout=PING_SECONDS)
    try:
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(PING_SECONDS)
        connection.sock.connect(path)
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        status, version = answer.status, answer.getheader("Api-Version")
        answer.close()
    except http.client.HTTPException as error:
        raise EngineError(f"what answers at {path} is no container engine: set DOCKER_HOST, {_OR_ELSE}") from error
    except OSError as error:
        raise _unreachable(path, error) from error
    finally:
        connection.close()
    if status != 200:
        raise EngineError(f"the container engine at {path} is not well ({status}): restart it, {_OR_ELSE}")
    return version


def _unreachable(path: str, error: OSError) -> EngineError:
    if isinstance(error, PermissionError):
        return EngineError(f"no permission for the container engine at {path}: {_who_may(path)}, {_OR_ELSE}")
    if isinstance(error, TimeoutError):
        return EngineError(
            f"the container engine at {path} does not answer within {PING_SECONDS:.0f} s: restart it, {_OR_ELSE}"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ECONNREFUSED):
        return EngineError(
            f"no container engine at {path}: start one (systemctl start docker; or set DOCKER_HOST to the socket of "
            f"another, such as podman's), {_OR_ELSE}"
        )
    return EngineError(f"{path} leads to no container engine ({error.strerror or error}): see DOCKER_HOST, {_OR_ELSE}")


def _who_may(path: str) -> str:
    """Who is allowed to talk to the engine, and how to become one of them."""
    try:
        group = grp.getgrgid(Path(path).stat().st_gid).gr_name
    except (OSError, KeyError):
        group = "docker"
    if group == "root":
        return "only root may use it"
    return f"the group {group} may use it (usermod -aG {group} YOU, then log in again)"


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """What the engine or the way to it refuses while `doing` something becomes an EngineError of one line."""
    import docker.errors
    import requests.exceptions
    import urllib3.exceptions

    try:
        yield
    except docker.errors.APIError as error:
        raise refusal(doing, str(error.explanation or error)) from error
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise EngineError(f"{doing}: the container engine does not answer; restart it") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
        raise EngineError(f"{doing}: the container engine went away; is it running? ({_core(error)})") from error
    except docker.errors.DockerException as error:
        raise EngineError(f"{doing}: {_core(error)}") from error


def refusal(doing: str, explanation: str) -> EngineError:
    """The error for what an engine answers instead of doing it."""
    if _FULL.search(explanation):
        return EngineError(f"{doing}: {DISK_FULL}")
    return EngineError(f"{doing}: the container engine says: {' '.join(explanation.split())}")


def disk_is_full(text: str) -> bool:
    """Whether a message speaks of a full disk."""
    return bool(_FULL.search(text))


def _core(error: BaseException) -> str:
    """The innermost reason of an error that libraries have wrapped several times."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return " ".join(str(error).split()) or type(error).__name__


def _without_password(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//", address)
