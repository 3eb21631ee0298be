"""What goes into the images: the Dockerfiles that we write, and the hashes of all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ann_bench.engine.dockerfile import PINS
from ann_bench.engine.labels import OURS, Namespace
from ann_bench.engine.probe import USER
from ann_bench.entries.entry import Entry, entry_hash, files
from ann_bench.entries.pins import to_install, unpinned
from ann_bench.errors import EngineError, UsageError

#: Where an entry's files lie in its image.
ENTRY_FOLDER = "/entry"
#: The folder of a build's context that holds them; nothing in an entry can be called like that from outside it.
PAYLOAD = "entry"
DOCKERFILE = "Dockerfile"

#: What `worker` needs, in the image of every entry.
ALWAYS = ("numpy", "scipy")

_CA_IN_IMAGE = "/etc/ssl/ann-bench-ca.pem"
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")

#: So much of a hash stands in a tag.
_TAG_DIGITS = 16


@dataclass(frozen=True)
class Recipe:
    """What an image is made of: its hash, and the tag that says so.

    What is looked into comes from `dockerfile`, or is the common image with what pip makes of `needs`; `finish` are the
    instructions that come on top then, with the tag.
    """

    tag: str
    hash: str
    dockerfile: str
    finish: tuple[str, ...]
    needs: tuple[str, ...] = ()


def common_recipe(base_id: str, certificates: bytes | None, space: Namespace = OURS) -> Recipe:
    """The image that all entries share: the base, numpy and scipy."""
    arguments = [f"ARG {name}" for name in _INDEX_VARIABLES]
    lines = [f"FROM {plain_id(base_id)}", f"LABEL {space.kind}=common"]
    if certificates is not None:
        names = ("PIP_CERT", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
        lines += [
            f"COPY {PAYLOAD}/ca.pem {_CA_IN_IMAGE}",
            "ENV " + " ".join(f"{name}={_CA_IN_IMAGE}" for name in names),
            f"RUN mkdir -p /etc/apt/apt.conf.d && echo 'Acquire::https::CAInfo \"{_CA_IN_IMAGE}\";' "
            "> /etc/apt/apt.conf.d/ann-bench-ca",
        ]
    lines += [
        # Any Python 3 will do as a base, a distribution's own too.
        "ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1",
        "ENV PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1",
        'RUN command -v python || ln -s "$(command -v python3)" /usr/local/bin/python',
        *arguments,
        f"RUN python -m pip install {' '.join(ALWAYS)}",
    ]
    # So an entry's own Dockerfile has its pins and the settings of pip, and none of them stays in the environment.
    finish = tuple(f"ONBUILD {line}" for line in [*arguments, f"ARG {PINS}"])
    return _recipe("common", "\n".join(lines) + "\n", finish, [_digest(certificates or b"")], space)


def entry_recipe(entry: Entry, common_hash: str, space: Namespace = OURS) -> Recipe:
    """The image of one entry: of its own Dockerfile where it has one, else of what pip makes of `requires` and `pins`.

    pip chooses all of it together with numpy and scipy. The entry's files come on top, so that a changed wrapper costs
    no installation.
    Raises UsageError where the entry's files cannot be read.
    """
    text, needs = own_dockerfile(entry), tuple[str, ...]()
    if text is None:
        asked = to_install(entry.config.requires, entry.config.pins)
        # The entry's first: pip gives way with what it was asked for last.
        needs = (*asked, *unpinned(ALWAYS, entry.config.pins)) if asked else ()
    executable = [name for name, path in files(entry) if is_executable(path)]
    named = [entry.track, entry.name, entry.config.pins, needs]
    parts = [common_hash, entry_hash(entry), json.dumps(executable), json.dumps(named)]
    # What pip has installed is found by a label, which must not be on what is put on top.
    first = f'LABEL {space.label("needs")}=""'
    copied = (first, f"COPY {PAYLOAD}/ {ENTRY_FOLDER}/", *_program_is_there(entry.config.command))
    finish = (*copied, "USER 0", "ENTRYPOINT []", "HEALTHCHECK NONE")
    recipe = _recipe(f"{entry.track}-{entry.name}", text or "", finish, parts, space)
    return replace(recipe, needs=needs)


def _program_is_there(command: Sequence[str] | None) -> tuple[str, ...]:
    """Instructions that fail where the program of an entry is not in its image, or entries' user may not execute it."""
    if command is None:
        return ()
    lacks = f"error: {command[0]} is not in {ENTRY_FOLDER} or on PATH, or may not be executed; let a Dockerfile make it"
    code = f"import os, shutil; os.chdir({ENTRY_FOLDER!r}); exit(0 if shutil.which({command[0]!r}) else {lacks!r})"
    return (f"USER {USER}", f"RUN {json.dumps(['python', '-c', code])}")


def own_dockerfile(entry: Entry) -> str | None:
    """The text of the entry's own Dockerfile; None where it has none, or one for another benchmark's images."""
    path = entry.folder / DOCKERFILE
    if entry.dialect or not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error


def finish_dockerfile(recipe: Recipe, image_id: str, labels: Mapping[str, str]) -> str:
    """The last small step: the entry's files where they are looked for, and labels that tell what is inside."""
    label = "LABEL " + " ".join(f"{key}={_quoted(value)}" for key, value in labels.items())
    return "\n".join([f"FROM {plain_id(image_id)}", *recipe.finish, label]) + "\n"


def plain_id(image_id: str) -> str:
    """An image's id as every engine takes it in a Dockerfile."""
    return image_id.removeprefix("sha256:")


def certificates(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The certificates that this machine trusts, where its environment names a file of them."""
    for name in _CA_VARIABLES:
        path = environment.get(name)
        if path and Path(path).is_file():
            try:
                return Path(path).read_bytes()
            except OSError:
                continue
    return None


def build_arguments(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Settings of this machine without which a build may not reach anything: proxies, and where pip looks.

    Engines keep no proxy, but they keep other arguments in an image's history: an address with a password in it is
    refused. Raises EngineError.
    """
    found = {name: environment[name] for name in _PROXY_VARIABLES if environment.get(name)}
    for name in _INDEX_VARIABLES:
        # A folder of this machine is nowhere inside a build.
        words = [word for word in environment.get(name, "").split() if not word.startswith(("file:", "/"))]
        if any("@" in word.partition("//")[2].partition("/")[0] for word in words):
            raise EngineError(
                f"{name} holds a password, and an image's history would keep it: use an address without one for "
                "`install` (an index on this machine, or a proxy that knows the password)"
            )
        if words:
            found[name] = " ".join(words)
    return found


def is_executable(path: Path) -> bool:
    """Whether the file's owner may execute it; the rest of its mode depends on the umask of whoever wrote it."""
    return bool(path.stat().st_mode & stat.S_IXUSR)


def _recipe(name: str, text: str, finish: tuple[str, ...], parts: Iterable[str], space: Namespace) -> Recipe:
    whole = _digest(json.dumps([text, *finish, *parts]).encode())
    return Recipe(f"{space.repository(name)}:{whole[:_TAG_DIGITS]}", whole, text, finish)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _quoted(value: str) -> str:
    """A value as Dockerfiles quote it: nothing in it is a variable or an end."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
