"""Reading an entry's Dockerfile: as much as it takes to tell what its last stage begins with."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The build argument that names the common image.
ARGUMENT = "ANN_BENCH_COMMON"
#: The one that has the entry's pins as words for pip: `hnswlib==0.8.0 numpy==2.1`.
PINS = "ANN_BENCH_PINS"

_COMMON = re.compile(rf"\$(?:{ARGUMENT}\b|\{{{ARGUMENT}(?::?-[^}}]*)?\}})")
_FROM = re.compile(r"FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<name>\S+))?\s*", re.IGNORECASE)
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*=\s*(\S*)")


@dataclass(frozen=True)
class _Instruction:
    text: str
    last_line: int


def refusal(text: str) -> str | None:
    """Why this Dockerfile cannot be an entry's, in a few words; None where it can."""
    stages = _stages(text)
    if not stages:
        return f"it has no FROM; begin with `ARG {ARGUMENT}` and `FROM ${{{ARGUMENT}}}`"
    if not any(re.match(rf"ARG\s+{ARGUMENT}\b", one.text, re.IGNORECASE) for one in _before_first_stage(text)):
        return f"`ARG {ARGUMENT}` has to stand before the first FROM"
    if not stages[-1].common:
        return f"its last stage begins from {stages[-1].image}; begin it with `FROM ${{{ARGUMENT}}}`"
    return None


def labelled(text: str, label: str) -> str:
    """The Dockerfile with this label in every stage that is not made from the common image, which has it already.

    So all images that a build leaves in the engine, its cache too, can be told from other people's.
    """
    lines = text.splitlines()
    for stage in reversed(_stages(text)):
        if not stage.common:
            lines.insert(stage.last_line + 1, f"LABEL {label}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Stage:
    image: str
    name: str
    common: bool
    last_line: int


def _stages(text: str) -> list[_Stage]:
    stages: list[_Stage] = []
    common: set[str] = set()
    for one in _instructions(text):
        if found := _FROM.fullmatch(one.text):
            image, name = found["image"], (found["name"] or "").lower()
            is_common = bool(_COMMON.fullmatch(image)) or image.lower() in common
            stages.append(_Stage(image, name, is_common, one.last_line))
            # A later stage may take the name of an earlier one, and then it is meant.
            (common.add if is_common else common.discard)(name)
            common.discard("")
    return stages


def _before_first_stage(text: str) -> list[_Instruction]:
    found = []
    for one in _instructions(text):
        if _FROM.fullmatch(one.text):
            break
        found.append(one)
    return found


def _instructions(text: str) -> list[_Instruction]:
    """The instructions, each in one line: comments left out, continued lines joined."""
    escape = _escape(text)
    found: list[_Instruction] = []
    parts: list[str] = []
    for number, line in enumerate(text.splitlines()):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        parts.append(bare.removesuffix(escape).rstrip())
        if not bare.endswith(escape):
            found.append(_Instruction(" ".join(part for part in parts if part), number))
            parts = []
    if parts:
        found.append(_Instruction(" ".join(parts), len(text.splitlines()) - 1))
    return found


def _escape(text: str) -> str:
    """The character that continues a line; a directive at the very top may choose another one."""
    for line in text.splitlines():
        directive = _DIRECTIVE.fullmatch(line.strip())
        if not directive:
            break
        if directive[1].lower() == "escape" and directive[2]:
            return directive[2]
    return "\\"
