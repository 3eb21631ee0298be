"""The pages in headless Chromium: from a disk, without a server."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ann_bench.report.ranking import tiers_of
from ann_bench.report.recommend import Needs, recommend
from ann_bench.results.figures import Figures, figures
from ann_bench.results.published import Published
from ann_bench.results.store import read
from ann_bench.site.boards import spread
from ann_bench.site.embed import plain
from ann_bench.stats import median_estimate
from ann_bench.stats.exact import quantile
from ann_bench.tracks import Score
from tests.results import made
from tests.site import scenes
from tests.site.browser import Site, start

#: What the axis of the picture that goes up is called.
HEIGHT = "return document.getElementById('picture').layout.yaxis.title.text"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    found = start()
    yield found
    found.quit()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("plotly", reason="the site's pictures are drawn by plotly: pip install plotly")
    from ann_bench.site.build import Content, make
    from ann_bench.site.folder import replace as put

    place = tmp_path_factory.mktemp("site and ünï <b>")
    paths = {path.stem: path for path in scenes.store(place / "results").paths()}
    found = [figures(read(path)) for path in paths.values()]
    beside = [
        Published("filtered", "debian-20k", name, "p", 10, recall, 9e4, 60.0, "a <b>machine</b>")
        for name, recall in (("other", 0.97), (scenes.EVIL, 0.92), (scenes.EVIL, 0.5))
    ]
    put(place / "out", make(Content(found, paths, published=beside)).files, {})
    return place / "out"


@pytest.fixture
def site(driver: Any, written: Path) -> Iterator[Site]:
    found = Site(driver, written)
    found.errors()  # what is left from another test
    yield found
    assert found.errors() == []


def overview(site: Site) -> Any:
    text = (site.folder / "data" / "overview.js").read_text()
    return json.loads(text.removeprefix('annBench.give("overview",').removesuffix(");\n"))


def results(site: Site) -> list[Figures]:
    return [figures(read(path, answers=False)) for path in site.folder.parent.rglob("*.h5")]


def board(site: Site, place: int = 0, settings: str = "") -> str:
    return f"board.html?board={overview(site)['boards'][place]['file']}{settings}"


def entry(site: Site, name: str) -> str:
    return next(f"entry.html?entry={one['file']}" for one in overview(site)["entries"] if one["name"] == name)


def test_every_page_opens_and_shows_names_as_text(site: Site) -> None:
    result = entry(site, scenes.EVIL).replace("entry.html", "result.html")
    key = next(
        path
        for path in site.folder.parent.rglob("*.h5")
        if scenes.EVIL[:4] in path.parent.name or "img" in path.parent.name
    )
    for page in ("index.html", board(site), board(site, 1), entry(site, scenes.EVIL), f"{result}&result={key.stem}"):
        site.open(page)
        assert site.texts("h1") and not site.texts("[role=alert]"), page
        assert site.ask("return document.querySelectorAll('main img, main b').length") == 0
        assert site.errors() == [], page
    assert site.texts("h1")[0].startswith(scenes.EVIL)
    assert any("queries lack a true answer" in text for text in site.texts("p"))
    site.open(board(site))
    assert scenes.EVIL in site.ranking()
    assert "Other <b>box</b>" in " ".join(site.texts("#set option"))
    assert "<img" not in site.ask("return document.getElementById('picture').innerHTML")
    site.open(board(site, 1))
    assert site.ask("return document.querySelectorAll('.picture').length") == 2
    site.open(board(site, 2))
    assert site.ranking() == ["hnswlib"] and "no ranking rule is known" in site.texts("p")[0]


def test_an_address_that_names_nothing(site: Site) -> None:
    for page in ("board.html?board=../../x", "board.html", "entry.html?entry=%3Cb%3E"):
        site.open(page)
        assert site.texts("[role=alert]") == ["this address names nothing on this site"]
    site.open("board.html?board=gone")
    assert site.texts("[role=alert]") == ["data/board-gone.js is missing or cannot be read"]
    assert all("gone.js" in message for message in site.errors())


def test_a_slider_ranks_again(site: Site) -> None:
    site.open(board(site))
    assert site.ranking() == ["hnswlib", "faiss-ivf", scenes.EVIL]
    before = site.texts("table.ranking td")
    site.slide("recall", 0)
    assert site.ranking() == ["hnswlib", "faiss-ivf", scenes.EVIL]
    assert site.texts("table.ranking td") != before, "without a bound the fastest points are the best"
    for place, recall in ((5, 0.8), (8, 0.9), (13, 0.95)):
        site.slide("recall", place)
        advice = recommend(results(site), Needs(recall=recall))[0]
        assert site.ranking() == [one.algorithm for one in advice.fitting], "as `ann-bench recommend` has it"
    site.slide("recall", 21)
    assert site.ranking() == []
    assert site.texts("#said") == ["None of 3 algorithms meets these needs."]
    assert site.ask("return document.getElementById('recall').getAttribute('aria-valuetext')") == "1.0000"


def test_a_toggle_hides(site: Site) -> None:
    site.open(board(site))
    assert len(site.drawn()) == 3
    site.ask("document.getElementById('show-1').click()")
    site.wait(lambda: len(site.drawn()) == 2, "the line is gone")
    assert site.ranking() == ["hnswlib", scenes.EVIL]
    assert site.ask("return location.hash") == "#off=faiss-ivf"


def test_a_permalink_restores(site: Site) -> None:
    site.open(board(site))
    site.ask("document.getElementById('show-0').click(); document.getElementById('show-2').click()")
    site.slide("recall", 5)
    site.slide("memory", 0)
    site.ask("const e = document.getElementById('y'); e.value = 'build_seconds'; e.dispatchEvent(new Event('change'))")
    site.ask("document.getElementById('even').click()")
    site.wait(lambda: len(site.drawn()) == 1, "two are hidden")
    link = site.ask("return location.hash")
    seen = site.texts("table.ranking td"), site.drawn(), site.ask(HEIGHT)
    site.open(board(site) + link)
    assert site.ask("return location.hash") == link
    assert seen == (site.texts("table.ranking td"), site.drawn(), site.ask(HEIGHT))
    assert seen[2] == "Build time (s)"
    assert [site.ask(f"return document.getElementById('{name}').value") for name in ("recall", "y")] == [
        "5",
        "build_seconds",
    ]
    shown = [site.ask(f"return document.getElementById('{name}').checked") for name in ("even", "show-0", "show-1")]
    assert shown == [True, False, True]
    site.open(board(site) + "#recall=x&memory=&set=%E0%A4%A&y=__proto__&off=nobody")
    assert len(site.drawn()) == 3, "settings that make no sense are as if they were not there"


def test_the_keyboard_reaches_every_control(site: Site) -> None:
    from selenium.webdriver import ActionChains, Keys

    site.open(board(site))
    reached = []
    for _ in range(24):
        ActionChains(site.driver).send_keys(Keys.TAB).perform()
        reached.append(site.ask("const e = document.activeElement; return e.id || e.textContent"))
    places = [
        reached.index(name)
        for name in ("Skip to the content", "goto", "theme", "recall", "memory", "build", "show-0", "x", "y")
    ]
    assert places == sorted(places)
    site.ask("document.getElementById('recall').focus()")
    ActionChains(site.driver).send_keys(Keys.END).perform()
    assert site.ranking() == []
    assert site.ask("return [...document.querySelectorAll('input, select')].every(e => e.labels.length || e.ariaLabel)")
    assert site.ask("return [...document.querySelectorAll('button')].every(e => e.ariaLabel || e.textContent.trim())")


def test_what_is_downloaded(site: Site) -> None:
    site.open(board(site))
    rows = [{"a": 1.5, "b": 'x,"y"'}, {"a": None, "b": "=1+1", "c": {"k": "<"}}]
    text = site.ask("return annBench.download.csv(arguments[0])", rows)
    assert text == 'a,b,c\n1.5,"x,""y""",\n,\'=1+1,"{""k"":""<""}"\n'
    saved = site.ask(
        "const kept = []; const old = URL.createObjectURL; URL.createObjectURL = b => { kept.push(b); return old(b) };"
        "document.querySelector('.buttons [aria-label$=JSON]').click(); URL.createObjectURL = old;"
        "return kept[0].text()"
    )
    assert len(json.loads(saved)) == 18
    assert {row["algorithm"] for row in json.loads(saved)} == {"faiss-ivf", "hnswlib", scenes.EVIL}


def test_the_picture_by_its_parts(site: Site) -> None:
    """Lines have the colours of the palette, the page is dark or light, and fits on a phone."""
    site.open(board(site))
    styles = overview(site)["styles"]
    assert near(screenshot(site, "#picture"), styles["hnswlib"][0]) > 50
    light = screenshot(site, "h1")
    site.ask("document.getElementById('theme').click()")
    site.wait(
        lambda: near(screenshot(site, "#picture"), styles["hnswlib"][1]) > 50, "redrawn in the colours for dark pages"
    )
    assert screenshot(site, "h1").mean() < 80 < 170 < light.mean()
    site.ask("document.getElementById('theme').click()")
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    site.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for page in ("index.html", board(site), board(site, 1), entry(site, scenes.EVIL)):
            site.open(page)
            assert site.ask("return document.documentElement.scrollWidth") <= 360, page
    finally:
        site.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def screenshot(site: Site, selector: str) -> np.ndarray:
    """An element as it is seen, (height, width, 3)."""
    from matplotlib.image import imread

    element = site.driver.find_element("css selector", selector)
    return np.asarray(imread(io.BytesIO(element.screenshot_as_png)))[..., :3] * 255


def near(picture: np.ndarray, colour: str) -> int:
    """How many pixels have a colour, or nearly so."""
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return int((np.abs(picture - wanted).max(axis=2) < 12).sum())


def test_tiers_are_those_of_the_board(site: Site) -> None:
    """Of random speeds, and of random intervals of recall, as Python has them."""
    site.open(board(site))
    rng, boards = np.random.default_rng(7), []
    for number in range(150):
        shapes = [(int(rng.integers(1, 5)), int(rng.integers(1, 8))) for _ in range(int(rng.integers(1, 9)))]
        until = {"until": 0.02} if number % 3 == 0 else {}
        noise = 10.0 ** rng.uniform(-4, -0.5)
        found = []
        for shape in shapes:
            values = 1000 * rng.lognormal(0, 0.05) * rng.lognormal(0, noise, shape)
            values[rng.random(shape) < 0.05] = math.nan
            if rng.random() < 0.1:
                values[:] = 1000.0  # without any spread
            recall = rng.uniform(0.8, 1)
            bundle = made.bundle(algorithm=f"a{len(found)}", queries=9, **until)
            one = replace(
                figures(bundle), rates=tuple(map(tuple, values.tolist())),
                qps=median_estimate(values).value, recall=recall, recall_low=recall - rng.uniform(0, 0.02),
                recall_high=recall + rng.uniform(0, 0.02),
            )  # fmt: skip
            found += [one] if math.isfinite(one.qps) else []
        boards.append(found)
    for figure in ("qps", "recall"):
        score = Score(figure)
        ordered = [sorted(found, key=lambda one: -getattr(one, figure)) for found in boards]
        given = [[{**plain(one.row()), "spread": spread(one)} for one in found] for found in ordered]
        seen = site.ask("return arguments[0].map((points) => annBench.tiers.of(points, arguments[1]))", given, figure)
        assert seen == [tiers_of(found, score) for found in ordered]
    freedoms = [1.0, 2.0, 4.4, 7.5, 13.9, 80.0, 1000.0]
    seen = site.ask("return arguments[0].map((one) => annBench.tiers.quantile(one, 0.995))", freedoms)
    assert seen == pytest.approx([quantile(one, 0.995) for one in freedoms], rel=1e-9)


def test_published_results_stand_beside(site: Site) -> None:
    site.open(board(site))
    assert site.texts("section h2")[0] == "Published elsewhere"
    table = "[aria-label='Published elsewhere'] td:first-child"
    assert site.texts(table) == ["published:other", f"published:{scenes.EVIL}"]
    assert "a <b>machine</b>" in site.texts("[aria-label='Published elsewhere'] td")
    assert not any("published" in name for name in site.ranking())
    site.slide("recall", 13)
    assert site.texts(table) == ["published:other"]
