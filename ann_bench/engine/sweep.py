"""Removing what is ours from the engine: containers that nobody waits for any more, and images on request."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import OURS, Namespace, judge_is_gone, judge_of, short_tag

if TYPE_CHECKING:
    import docker

logger = logging.getLogger(__name__)

_CONFLICT = 409


@dataclass
class Cleaned:
    """What was removed (or would be), by name; and what was left although it is ours, with the reason."""

    containers: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def sweep(client: docker.DockerClient, space: Namespace = OURS) -> int:
    """Remove the containers whose judge is gone; how many they were."""
    count = len(_sweep(client, Cleaned(), space, dry_run=False).containers)
    if count:
        logger.info("removed %d abandoned container%s", count, "s" if count > 1 else "")
    return count


def clean(client: docker.DockerClient, *, dry_run: bool = False, space: Namespace = OURS) -> Cleaned:
    """Remove our abandoned containers, all our images and volumes, nothing else; `dry_run` only says what.

    Left are the containers of judges that live, and then all images and volumes; also images that something runs in or
    that somebody has built upon.
    An image is ours where it bears our label and no tag but ours: one that somebody made from ours bears the label too.
    """
    cleaned = _sweep(client, Cleaned(), space, dry_run=dry_run)
    with engine_errors("asking for its images"):
        images = client.api.images(all=True, filters={"label": space.kind})
        busy = _busy_images(client)
    names = _names(images, space)
    if cleaned.left:
        # The run may be between two containers of images that nothing else tells to be in use.
        if names:
            cleaned.left["images"] = "a run goes on; clean again when it has ended"
        return cleaned
    if dry_run:
        used = {tag for image in images if image["Id"] in busy for tag in (image["Id"], *(image.get("RepoTags") or ()))}
        cleaned.images = sorted(name for key, name in names.items() if key not in used)
    else:
        _remove_images(client, names, cleaned)
    _remove_volumes(client, cleaned, space, dry_run=dry_run)
    return cleaned


def _names(images: Iterable[Mapping[str, Any]], space: Namespace) -> dict[str, str]:
    """What to ask the engine to remove (ids, or tags), and what to call it."""
    names: dict[str, str] = {}
    for image in images:
        ours, others = space.image_tags(image.get("RepoTags"))
        if others:
            names.update({tag: short_tag(tag) for tag in ours})
        else:
            # Not by its tag: that would be gone then even where the image has to stay.
            names.update({tag: short_tag(tag) for tag in ours[1:]})
            names[image["Id"]] = short_tag(ours[0]) if ours else f"layer {_short(image['Id'])}"
    return names


def _sweep(client: docker.DockerClient, cleaned: Cleaned, space: Namespace, *, dry_run: bool) -> Cleaned:
    with engine_errors("asking for its containers"):
        containers = client.api.containers(all=True, filters={"label": f"{space.kind}=worker"})
    for container in containers:
        labels: Mapping[str, str] = container["Labels"]
        name = f"container {_short(container['Id'])} ({labels.get(space.label('entry'), '?')})"
        if not judge_is_gone(labels, space):
            cleaned.left[name] = f"in use by {judge_of(labels, space)}"
        elif dry_run or _remove_container(client, container["Id"]):
            cleaned.containers.append(name)
    return cleaned


def _remove_container(client: docker.DockerClient, container_id: str) -> bool:
    """Whether it was this call that removed it; another process may sweep at the same time."""
    import docker.errors

    with engine_errors("removing an abandoned container"):
        try:
            client.api.remove_container(container_id, force=True, v=True)
        except docker.errors.NotFound:
            return False
        except docker.errors.APIError as error:
            if error.status_code == _CONFLICT:  # its removal is under way
                return False
            raise
    return True


def _remove_images(client: docker.DockerClient, names: dict[str, str], cleaned: Cleaned) -> None:
    """Remove in the order that dependencies allow, which only the engine knows: again and again while it helps."""
    import docker.errors

    waiting, reasons = dict(names), dict[str, str]()
    progress = True
    while waiting and progress:
        progress = False
        for key, name in list(waiting.items()):
            try:
                with suppress(docker.errors.ImageNotFound):
                    client.api.remove_image(key, noprune=True)
            except docker.errors.APIError as error:
                if error.status_code != _CONFLICT:
                    with engine_errors(f"removing {name}"):
                        raise
                reasons[name] = " ".join(str(error.explanation).split())
            else:
                progress = True
                del waiting[key]
                cleaned.images.append(name)
    cleaned.images.sort()
    cleaned.left.update({name: reasons[name] for name in waiting.values()})


def _remove_volumes(client: docker.DockerClient, cleaned: Cleaned, space: Namespace, *, dry_run: bool) -> None:
    import docker.errors

    with engine_errors("asking for its volumes"):
        found = client.api.volumes(filters={"label": space.kind})["Volumes"] or ()
    for name in sorted(one["Name"] for one in found):
        try:
            if not dry_run:
                with suppress(docker.errors.NotFound):
                    client.api.remove_volume(name)
        except docker.errors.APIError as error:
            cleaned.left[f"volume {name}"] = " ".join(str(error.explanation).split())
        else:
            cleaned.volumes.append(name)


def _busy_images(client: docker.DockerClient) -> set[Any]:
    return {container["ImageID"] for container in client.api.containers(all=True)}


def _short(engine_id: str) -> str:
    return engine_id.removeprefix("sha256:")[:12]
