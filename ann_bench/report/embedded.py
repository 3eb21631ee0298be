"""The figures that a picture was drawn from, kept in its file, so that the picture can be held against results."""

from __future__ import annotations

import html
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ann_bench.errors import ResultError, UsageError
from ann_bench.report.look import Look
from ann_bench.report.palette import told
from ann_bench.report.sheets import Sheet
from ann_bench.results.figures import Figures

FORMAT = "ann-bench plot"

#: What is kept of every point.
KEPT = (
    "key", "algorithm", "build", "query", "recall", "recall_low", "recall_high", "qps", "qps_low", "qps_high",
)  # fmt: skip

#: The field of the metadata that holds it: Dublin Core has it for SVG, and PNG knows it by the same name.
FIELD = "Description"

#: That of PDF.
PDF_FIELD = "Subject"

_SVG = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)
_PDF = re.compile(rb"/Subject \(((?:[^\\()]|\\.)*)\)", re.DOTALL)


def embedded(sheet: Sheet, look: Look) -> str:
    """What is kept of a picture, as JSON in ASCII."""
    kept = {
        "format": FORMAT,
        "version": 1,
        "name": sheet.name,
        **sheet.wish.told(),
        "styles": {name: told(look.styles[name]) for name in sheet.algorithms if name in look.styles},
        "matplotlib": version("matplotlib"),
        "points": [kept_of(point) for point in sheet.points],
        "failures": [one.key for one in sheet.failures],
        "older": sheet.older,
    }
    return json.dumps(kept, separators=(",", ":"))


def kept_of(point: Figures) -> dict[str, Any]:
    """The values of KEPT; None where nothing was measured."""
    row = point.row()
    return {name: row[name] for name in KEPT}


def take(path: Path) -> dict[str, Any]:
    """What a picture (.svg, .png, .pdf) keeps; UsageError where it cannot be read, ResultError where it has none."""
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise UsageError(f"{path}: only {', '.join(_READERS)} hold the figures that they were drawn from")
    try:
        text = _READERS[suffix](path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or 'it is no picture'})") from error
    except (ValueError, SyntaxError) as error:
        raise UsageError(f"{path}: is no picture that can be read ({error})") from error
    try:
        kept: dict[str, Any] = json.loads(text)
        if kept["format"] != FORMAT or not isinstance(kept["points"], list):
            raise ValueError("of another kind")
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(
            "holds no figures: an older ann-bench drew it, or another program saved it; draw it again with "
            "`ann-bench plot`"
        ) from error
    return kept


def _of_svg(path: Path) -> str:
    found = _SVG.search(path.read_text(encoding="utf-8"))
    return html.unescape(found[1]) if found else ""


def _of_png(path: Path) -> str:
    from PIL import Image

    with Image.open(path, formats=("PNG",)) as image:
        return str(image.info.get(FIELD, ""))


def _of_pdf(path: Path) -> str:
    found = _PDF.search(path.read_bytes())
    return re.sub(rb"\\(.)", rb"\1", found[1], flags=re.DOTALL).decode("ascii") if found else ""


_READERS = {".svg": _of_svg, ".png": _of_png, ".pdf": _of_pdf}
