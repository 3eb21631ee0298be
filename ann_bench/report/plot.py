"""Pictures as files: PNG, SVG and PDF, equal for equal results."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ann_bench.errors import unknown
from ann_bench.report.drawn import Drawn
from ann_bench.report.embedded import FIELD, PDF_FIELD, embedded
from ann_bench.report.look import Look
from ann_bench.report.palette import styles_over
from ann_bench.report.sheets import Sheet, Wish, sheets
from ann_bench.results.atomic import write_atomically
from ann_bench.results.figures import Figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: What a picture can be written as; the metadata leave out what would differ from one drawing to the next.
FORMATS = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}

#: Where each of them holds the figures that it was drawn from, for `verify`.
_TELLING = {"png": FIELD, "svg": FIELD, "pdf": PDF_FIELD}


#: Control characters of names, which matplotlib puts into comments of an SVG and no XML may hold.
_NO_XML = bytes(code for code in range(32) if code not in b"\t\n\r")


def plot(
    figures: Iterable[Figures],
    output: Path,
    formats: Sequence[str] = ("png", "svg"),
    wish: Wish | None = None,
    cache: Path | None = None,
) -> list[Path]:
    """Draw every wished picture (see `sheets`) that results make into a folder, and return the files.

    Only `ok` results are drawn, and only results of equal conditions in one picture (see `pareto.pictures`);
    without any there is no file. Equal results give equal files; an algorithm looks the same in all of them. With a
    folder as `cache` a file that is as it would be drawn again is left as it is (`Drawn`).
    Raises UsageError for an unknown format, StorageError where the folder cannot be written.
    """
    for form in formats:
        if form not in FORMATS:
            raise unknown("format", form, FORMATS)
    wish = wish or Wish()
    found = sheets(figures, wish)
    look = Look(wish.paper, styles_over(sheet.algorithms for sheet in found))
    written: list[Path] = []
    with Drawn(cache) as drawn:
        for sheet in found:
            paths = {form: output / f"{sheet.name}.{form}" for form in formats}
            print_of = drawn.fingerprint(embedded(sheet, look) + sheet.content())
            missing = [form for form, path in paths.items() if not drawn.stands(print_of, form, path)]
            for form, content in render(sheet, look, missing).items():
                write_atomically(paths[form], (content,))
                drawn.note(print_of, form, content)
            written += paths.values()
    return written


def render(sheet: Sheet, look: Look, formats: Sequence[str]) -> dict[str, bytes]:
    """The picture in each of some FORMATS; all carry the figures that they show (see `embedded`)."""
    if not formats:
        return {}
    kept = embedded(sheet, look)
    with warnings.catch_warnings():
        # a name in a script that the font lacks is drawn as boxes; no reason to say so a hundred times
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        drawing = sheet.figure(look)
        return {form: _bytes(drawing, form, kept) for form in formats}


def _bytes(figure: Drawing, form: str, kept: str) -> bytes:
    import matplotlib

    buffer = io.BytesIO()
    metadata = {**FORMATS[form], _TELLING[form]: kept}
    with matplotlib.rc_context({"svg.hashsalt": "ann-bench", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=form, metadata=metadata)
    return buffer.getvalue().translate(None, _NO_XML) if form == "svg" else buffer.getvalue()
