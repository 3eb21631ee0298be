"""What is really inside an image: asked of the image itself, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import Namespace, worker_labels

if TYPE_CHECKING:
    import docker

#: The user that entries run as; it has no name and owns nothing.
USER = "65532:65532"

#: What the worker, which is mounted into every image, is written for.
OLDEST_PYTHON = Version("3.10")

_PATIENCE_SECONDS = 300
_MARK = "ann-bench-probe:"
_PROGRAM = f"""
import json, os, platform, sys
from importlib import metadata
import numpy, scipy.sparse
environment = dict(
    implementation_name=sys.implementation.name, os_name=os.name, platform_machine=platform.machine(),
    platform_release=platform.release(), platform_system=platform.system(), platform_version=platform.version(),
    platform_python_implementation=platform.python_implementation(), sys_platform=sys.platform,
    python_full_version=platform.python_version(), python_version="%d.%d" % sys.version_info[:2],
    implementation_version=platform.python_version(),
)
packages = {{}}
for one in metadata.distributions():
    name = (one.metadata["Name"] or "") if one.metadata else ""
    if name and one.version:
        packages.setdefault(name, one.version)
sys.stdout.write("\\n{_MARK}" + json.dumps([packages, environment]) + "\\n")
"""


@dataclass(frozen=True)
class Contents:
    """The distributions in an image by their normalised names, and what markers of requirements are held against."""

    packages: Mapping[str, str]
    environment: Mapping[str, str]

    def unmet(self, requires: Iterable[str]) -> list[str]:
        """The requirements that the image does not meet: not there, or there in another version."""
        return [str(need) for need in map(Requirement, requires) if not self._met(need)]

    def _met(self, need: Requirement) -> bool:
        if need.marker is not None and not need.marker.evaluate(dict(self.environment)):
            return True
        version = self.packages.get(canonicalize_name(need.name))
        return version is not None and need.specifier.contains(version, prereleases=True)


class ProbeFailed(Exception):
    """The image does not run Python with numpy and scipy; the message is its own last line."""


def probe(client: docker.DockerClient, image_id: str, name: str, space: Namespace) -> Contents:
    """Run the image once, as entries are run, and have it list its distributions; raises ProbeFailed."""
    import docker.errors

    api = client.api
    with engine_errors(f"running the image of {name}"):
        container: dict[str, Any] = api.create_container(
            image_id,
            command=["-c", _PROGRAM],
            entrypoint=["python"],
            user=USER,
            network_disabled=True,
            use_config_proxy=False,
            labels=worker_labels(name, space),
            host_config=api.create_host_config(network_mode="none", cap_drop=["ALL"]),
        )
    try:
        with engine_errors(f"running the image of {name}"):
            try:
                api.start(container)
            except docker.errors.APIError as error:  # no `python` in it, for example
                raise ProbeFailed(str(error.explanation)) from error
            api.wait(container, timeout=_PATIENCE_SECONDS)
            output = api.logs(container).decode(errors="replace")
    finally:
        with suppress(Exception):
            api.remove_container(container, force=True, v=True)
    lines = output.splitlines()
    for line in lines:
        if line.startswith(_MARK):
            packages, environment = json.loads(line.removeprefix(_MARK))
            if Version(environment["python_full_version"]) < OLDEST_PYTHON:
                found = environment["python_full_version"]
                raise ProbeFailed(f"its Python is {found}; the worker needs {OLDEST_PYTHON} or later")
            named = {canonicalize_name(key): version for key, version in packages.items()}
            return Contents(dict(sorted(named.items())), environment)
    raise ProbeFailed(lines[-1] if lines else "it ended without a word")
