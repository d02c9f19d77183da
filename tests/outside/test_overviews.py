from pathlib import Path

import overviews
from common import Row

from sumpool.documents.document import TextBlock

REFERENCE = (
    "The pipeline reads the measurements of all reservoirs, removes the years in which a gauge was broken, and writes "
    "a table of yearly means, which the other programs of the suite compare with the forecasts of the models."
)
REST = (
    "<p>"
    + "A gauge of the reservoirs writes measurements, and programs of the suite compare yearly means with forecasts. "
    * 40
    + "</p>"
)
LISTED = TextBlock("one", "list_item", 1)


def page(folder: Path, body: str) -> Row | None:
    file = folder / "usr/share/doc/demo/guide.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"<html><head><title>Guide</title></head><body><main>{body}</main></body></html>")
    relative = file.relative_to(folder)
    return overviews.to_row(relative, folder, "demo", "MIT", folder / "cache")


def test_the_section_overview_is_the_reference(tmp_path: Path) -> None:
    for heading in ("Overview", "1. Introduction", "Executive Summary", "What is the pipeline?"):
        row = page(tmp_path, f"<h1>Guide</h1><h2>{heading}</h2><p>{REFERENCE}</p><h2>Gauges</h2>{REST}")
        assert row is not None
        assert (row.id, row.summary, row.licence) == ("demo/demo/guide.html", REFERENCE, "MIT")
        assert row.document.startswith("# Guide\n\n## Gauges\n\n")


def test_pages_without_an_overview_have_no_row(tmp_path: Path) -> None:
    assert page(tmp_path, f"<h1>Guide</h1><h2>Gauges</h2><p>{REFERENCE}</p>{REST}") is None
    assert page(tmp_path, f"<h1>Guide</h1><h2>Overview</h2><p>Short.</p>{REST}") is None


def test_an_overview_ends_before_a_list_and_its_announcement() -> None:
    blocks = [TextBlock("Guide", "heading", 1), TextBlock("Overview", "heading", 2), TextBlock(REFERENCE)]
    blocks += [TextBlock("Its parts are:"), LISTED, TextBlock("More."), *[LISTED] * 10]
    assert overviews.overview(blocks, without_section=False) == (2, 3)


def test_a_late_section_is_no_overview() -> None:
    blocks = [
        TextBlock("Guide", "heading", 1),
        *[LISTED] * 10,
        TextBlock("Summary", "heading", 2),
        TextBlock(REFERENCE),
    ]
    assert overviews.overview(blocks, without_section=False) == (0, 0)


def test_the_first_paragraphs_are_the_overview_of_reference_pages() -> None:
    blocks = [TextBlock("zip", "heading", 1), TextBlock("Source code: Lib/zip.py"), TextBlock(REFERENCE), LISTED]
    assert overviews.overview(blocks, without_section=True) == (2, 3)


def test_an_overview_shares_its_words_with_the_page() -> None:
    rest = [TextBlock("Of another subject altogether, namely birds. " * 60)]
    assert not overviews.is_overview(REFERENCE, rest)
    assert overviews.is_overview(REFERENCE, [*rest, TextBlock(REFERENCE)])


def test_candidates_have_a_heading_of_an_overview(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/doc/demo"
    (folder / "fr").mkdir(parents=True)
    text = "words of the page " * 200
    for name, content in {
        "a.html": f"<h2><a id='1'>Overview</a></h2>{text}",
        "b.html": f"<h2>Gauges</h2>an overview {text}",
        "c.rst": f"Introduction\n============\n{text}",
        "fr/a.html": f"<h2>Introduction</h2>{text}",
        "d.html": "<h2>Overview</h2>short",
    }.items():
        (folder / name).write_text(content)
    assert {path.name for path in overviews.candidates(tmp_path, "demo")} == {"a.html", "c.rst"}
