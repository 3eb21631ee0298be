"""Pictures as files: PNG, SVG and PDF, equal for equal results."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure as Drawing

from ann_bench.errors import unknown
from ann_bench.report.embedded import FIELD, embedded
from ann_bench.report.sheets import FRONT, Sheet, sheets
from ann_bench.results.atomic import write_atomically
from ann_bench.results.figures import Figures

#: What a picture can be written as; the metadata leave out what would differ from one drawing to the next.
FORMATS = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}

#: Those whose metadata hold the figures that they were drawn from, for `verify`.
_TELLING = ("png", "svg")


def plot(
    figures: Iterable[Figures], output: Path, formats: Sequence[str] = ("png", "svg"), kind: str = FRONT
) -> list[Path]:
    """Draw every picture of a kind (see `sheets`) that results make into a folder, and return the files written.

    Only `ok` results are drawn, and only results of equal conditions in one picture (see `pareto.pictures`);
    without any there is no file. Equal results give equal files. Raises UsageError for an unknown format or kind,
    StorageError where the folder cannot be written.
    """
    for form in formats:
        if form not in FORMATS:
            raise unknown("format", form, FORMATS)
    written = []
    for sheet in sheets(figures, kind):
        for form, content in render(sheet, formats).items():
            path = output / f"{sheet.name}.{form}"
            write_atomically(path, (content,))
            written.append(path)
    return written


def render(sheet: Sheet, formats: Sequence[str]) -> dict[str, bytes]:
    """The picture in each of some FORMATS; PNG and SVG carry the figures that they show (see `embedded`)."""
    kept = embedded(sheet)
    with warnings.catch_warnings():
        # a name in a script that the font lacks is drawn as boxes; no reason to say so a hundred times
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        drawing = sheet.figure()
        return {form: _bytes(drawing, form, kept) for form in formats}


def _bytes(figure: Drawing, form: str, kept: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {**FORMATS[form], FIELD: kept} if form in _TELLING else FORMATS[form]
    with matplotlib.rc_context({"svg.hashsalt": "ann-bench", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, metadata=metadata)
    return buffer.getvalue()
