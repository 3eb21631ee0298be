"""YAML files checked against a pydantic model: errors name the file, the line, the key and what is valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ann_bench.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)

#: Aliases let a short file describe an endless tree; no config or manifest comes near this many nodes.
MOST_NODES = 100_000


def load(path: Path, model: type[Model]) -> Model:
    """The file as a `model`.

    Raises UsageError, one line with the place, where the file cannot be read, is no YAML, repeats a key, or
    does not fit the model.
    """
    text = _text(path)
    tree, value = parse(path, text)
    if not isinstance(value, dict):
        keys = ", ".join(model.model_fields)
        raise UsageError(f"{path}:1: expected `key: value` lines; valid keys: {keys}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise UsageError(_first_line(path, tree, model, error)) from error


def compose(path: Path) -> yaml.Node | None:
    """The nodes of the file, which know their lines; None where it is empty.

    For long files that no model describes: several times as fast as `load` where PyYAML has its C parser.
    Raises UsageError as `load` does.
    """
    text = _text(path)
    with _yaml_errors(path):
        tree = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        _check_keys(path, tree)
        return tree


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path}: cannot be read ({reason})") from error


def parse(path: Path, text: str | None = None) -> tuple[yaml.Node | None, Any]:
    """The nodes of the file, which know their lines, and its value; `text` is what it holds, where that was read.

    Raises UsageError as `load` does.
    """
    text = _text(path) if text is None else text
    with _yaml_errors(path):
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        _check_keys(path, tree)
        return tree, yaml.safe_load(text)


@contextmanager
def _yaml_errors(path: Path) -> Iterator[None]:
    """Make one line of what PyYAML says."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: no valid YAML ({error.problem or error.context})") from error
    except RecursionError as error:
        raise UsageError(f"{path}: no valid YAML (lists and mappings lie too deep in each other)") from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
        # PyYAML lets errors of its own code through where a tag, such as `!!int x`, does not fit the value.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"{path}: no valid YAML ({reason})") from error


def _first_line(path: Path, tree: yaml.Node | None, model: type[BaseModel], error: ValidationError) -> str:
    # A typing error in a key is also a missing key: the first is what the user has to see.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    where = [part for part in first["loc"] if not _is_marker(part)]
    line = line_of(tree, where)
    name = ".".join(str(part) for part in where)
    if first["type"] == "extra_forbidden":
        valid = _valid_keys(model, where[:-1])
        near = difflib.get_close_matches(str(where[-1]), valid, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(valid)}"
        return f"{path}:{line}: unknown key {name!r}; {hint}"
    if first["type"] == "missing":
        return f"{path}:{line}: the key {name!r} is missing"
    message = first["msg"].removeprefix("Value error, ")
    found = first.get("input")
    shown = f" (found {found!r})" if isinstance(found, str | int | float | bool) else ""
    rest = f"; {error.error_count() - 1} more after it" if error.error_count() > 1 else ""
    return f"{path}:{line}: {name + ': ' if name else ''}{message[:1].lower()}{message[1:]}{shown}{rest}"


def _is_marker(part: int | str) -> bool:
    """Whether pydantic put this part into the place by itself: it names a validator or a kind, or marks a wrong key."""
    return isinstance(part, str) and part.startswith(("function-", "["))


def _valid_keys(model: Any, where: Sequence[Any]) -> list[str]:
    """The keys of the model that lies at `where`, looking through lists, dicts and optional types."""
    if not where:
        return list(model.model_fields) if hasattr(model, "model_fields") else []
    field = model.model_fields.get(where[0]) if hasattr(model, "model_fields") else None
    if field is None:
        return []
    rest = list(where[1:])
    for candidate in _models_in(field.annotation):
        for skip in range(len(rest) + 1):
            keys = _valid_keys(candidate, rest[skip:])
            if keys:
                return keys
    return []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for inner in getattr(annotation, "__args__", ()) for m in _models_in(inner)]


def line_of(node: yaml.Node | None, where: Sequence[Any]) -> int:
    """The 1-based line of the deepest part of `where` that the file has."""
    line = node.start_mark.line + 1 if node else 1
    for part in where:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if pair is None:
                continue  # pydantic's path also names the branch of a union, which no line of the file has
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _check_keys(path: Path, tree: yaml.Node | None) -> None:
    """Refuse a key that stands twice in one mapping, and more nodes than a file of this kind can have."""
    waiting, count = [tree], 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MOST_NODES:
            raise UsageError(f"{path}: too large, or an alias that holds itself; write the values out")
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(path, node)
            waiting.extend(value for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _refuse_repeated_keys(path: Path, node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                line = key.start_mark.line + 1
                raise UsageError(f"{path}:{line}: the key {key.value!r} stands here a second time")
            seen.add(key.value)
