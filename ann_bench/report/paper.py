"""What a picture is drawn on: light or dark, as wide as a page of text or as one of its two columns."""

from __future__ import annotations

from dataclasses import dataclass

from ann_bench.errors import unknown

STYLES = {"light": "dark lines on white", "dark": "light lines on black"}
WIDTHS = {"page": 7.2, "column": 3.33}  # inches

DPI = {"page": 200, "column": 300}


@dataclass(frozen=True)
class Paper:
    """Colours and sizes that follow from style and width. Font sizes are points, lengths inches.

    A picture is made to be shown at its own width: no text is smaller than 6 points then.
    """

    style: str = "light"
    width_name: str = "page"

    def __post_init__(self) -> None:
        """UsageError for a style or width that there is not."""
        if self.style not in STYLES:
            raise unknown("style", self.style, STYLES)
        if self.width_name not in WIDTHS:
            raise unknown("width", self.width_name, WIDTHS)

    @property
    def suffix(self) -> str:
        """What stands behind the name of a file that is not light and of a page's width."""
        return "-column" * self.column + "-dark" * self.dark

    @property
    def dark(self) -> bool:
        """Whether the ground is dark."""
        return self.style == "dark"

    @property
    def column(self) -> bool:
        """Whether it is to stand in one of two columns."""
        return self.width_name == "column"

    @property
    def width(self) -> float:
        """Inches across."""
        return WIDTHS[self.width_name]

    @property
    def dpi(self) -> int:
        """Dots an inch of a PNG."""
        return DPI[self.width_name]

    @property
    def text(self) -> float:
        """The size of names and of the labels of axes."""
        return 7.0 if self.column else 9.0

    @property
    def small(self) -> float:
        """The size of remarks and of the caption."""
        return 6.0 if self.column else 7.0

    @property
    def tick(self) -> float:
        """The size of the numbers at the axes."""
        return 6.5 if self.column else 8.0

    @property
    def caption(self) -> float:
        """The size of the text below."""
        return 6.0 if self.column else 6.5

    @property
    def longest(self) -> int:
        """The characters of a name that are shown."""
        return 18 if self.column else 30

    @property
    def ground(self) -> str:
        """The colour below all."""
        return "#14171A" if self.dark else "#FFFFFF"

    @property
    def ink(self) -> str:
        """The colour of text and axes."""
        return "#ECEFF1" if self.dark else "#000000"

    @property
    def muted(self) -> str:
        """The colour of what matters less: the caption, a bound."""
        return "#A9B2B9" if self.dark else "#444444"

    @property
    def grid(self) -> str:
        """The colour of the lines behind all."""
        return "#343A40" if self.dark else "#DDDDDD"


PAGE = Paper()
