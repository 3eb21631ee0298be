"""Pictures held against results: the figures kept in the file, and the drawing itself, which is drawn again."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

from ann_bench.errors import ResultError, UsageError
from ann_bench.report.embedded import KEPT, kept_of, take
from ann_bench.report.look import Look
from ann_bench.report.operating import Bundles
from ann_bench.report.palette import style_of
from ann_bench.report.pareto import Picture, pictures
from ann_bench.report.plot import render
from ann_bench.report.sheets import FRONT, Wish, front_sheet, sheet_again
from ann_bench.results.figures import Figures


def check_plot(path: Path, results: Mapping[str, Figures], bundles: Bundles = lambda one: None) -> list[str]:
    """Hold a picture (.svg, .png, .pdf) against results by their keys; returns what else is to be said of it.

    `bundles` finds the bundle of a result, for the kinds of pictures that show single queries. Raises ResultError,
    which names point (counted from 1), column, what was found and what was expected, at the first
    difference; and where the drawing is not the one that these results make. UsageError where it cannot be read.
    """
    kept = take(path)
    try:
        points = [_point(number, row, results) for number, row in enumerate(kept["points"], start=1)]
        failures = [_there(f"failure {number}", key, results) for number, key in enumerate(kept["failures"], start=1)]
        picture = Picture(str(kept["name"]), tuple(points), tuple(failures), int(kept["older"]))
        wish = Wish.of(kept, bundles)
        look = Look(wish.paper, {str(name): style_of(told) for name, told in kept.get("styles", {}).items()})
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        raise ResultError(
            f"holds figures that cannot be read ({error}); draw it again with `ann-bench plot`"
        ) from error
    if wish.kind == FRONT and len(pictures(points)) != 1:
        raise ResultError(f"shows {len(points)} points that were not all measured under the same conditions")
    sheet = front_sheet(picture, wish) if wish.kind == FRONT else sheet_again(wish, picture.name, points)
    sheet = dataclasses.replace(sheet, name=picture.name)
    if kept.get("matplotlib") != matplotlib.__version__:
        here, there = matplotlib.__version__, kept.get("matplotlib")
        return [f"drawn with matplotlib {there}, here is {here}: its figures were compared, its lines were not"]
    _same_drawing(path, render(sheet, look, (path.suffix.lower().removeprefix("."),)))
    return _left_out(picture, results) if wish.kind == FRONT else []


def _point(number: int, row: Mapping[str, Any], results: Mapping[str, Figures]) -> Figures:
    where = f"point {number} ({row['algorithm']} {row['query']})"
    found = _there(where, row["key"], results)
    expected = kept_of(found)
    for column in KEPT:
        if row[column] != expected[column]:
            raise ResultError(f"{where}, column {column}: found {row[column]}, expected {expected[column]}")
    return found


def _there(where: str, key: object, results: Mapping[str, Figures]) -> Figures:
    found = results.get(str(key))
    if found is None:
        raise ResultError(f"{where}, column key: found {key}, which is no verified result here")
    return found


def _same_drawing(path: Path, drawn: Mapping[str, bytes]) -> None:
    """Raise ResultError at the first line (of a PNG: pixel) that is not as it is drawn from the results."""
    ((form, again),) = drawn.items()
    content = path.read_bytes()
    if content == again:
        return
    if form == "svg":
        found, expected = content.decode().splitlines(), again.decode().splitlines()
        for number, (one, other) in enumerate(zip(found, expected, strict=False), start=1):
            if one != other:
                raise ResultError(f"line {number}: found {_cut(one)}, expected {_cut(other)}")
        raise ResultError(f"has {len(found)} lines, expected {len(expected)}")
    if form == "pdf":
        place = next((n for n, pair in enumerate(zip(content, again, strict=False)) if pair[0] != pair[1]), len(again))
        raise ResultError(f"is not the drawing that the results give: byte {place:,} of {len(content):,} differs")
    _same_pixels(content, again)


def _same_pixels(content: bytes, again: bytes) -> None:
    import numpy as np
    from PIL import Image

    one, other = (
        np.asarray(Image.open(io.BytesIO(data), formats=("PNG",)).convert("RGBA")) for data in (content, again)
    )
    if one.shape != other.shape:
        raise ResultError(f"has {one.shape[1]} x {one.shape[0]} pixels, expected {other.shape[1]} x {other.shape[0]}")
    different = np.argwhere((one != other).any(axis=2))
    if len(different):
        row, column = different[0].tolist()
        raise ResultError(
            f"{len(different):,} pixels differ from what the results give, the first in row {row}, column {column}: "
            f"found {one[row, column].tolist()}, expected {other[row, column].tolist()}"
        )


def _left_out(picture: Picture, results: Mapping[str, Figures]) -> list[str]:
    """What the results have under the same conditions that the picture does not show."""
    shown = {one.key for one in (*picture.points, *picture.failures)}
    for whole in pictures(results.values()):
        missing = [one for one in whole.points if one.key not in shown]
        if missing and any(one.key in shown for one in whole.points):
            names = ", ".join(dict.fromkeys(one.algorithm for one in missing))
            return [f"{len(missing)} results of the same conditions are not in it ({names})"]
    return []


def _cut(line: str) -> str:
    line = line.strip()
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
