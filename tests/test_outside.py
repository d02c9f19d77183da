"""The scripts of `recipes/outside`, each on a package that is made up: rows of documents with their references."""

import bz2
import gzip
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import abstracts
import common
import descriptions
import encyclopaedia
import manuals
import overviews
import papers
import pytest
import vignettes
from common import Row

from sumpool.documents.document import DEFAULT_OPTIONS, TextBlock
from sumpool.documents.formats import load_format
from tests.documents.formats.pdf_files import pdf, show, show_lines, wrap

SENTENCE = "This report describes how the reservoirs of the northern valley were measured over a period of ten years."


def make_row(package: str, seed: int) -> Row:
    """Row whose words are no other seed's, except for words that tell the language."""
    document = " ".join(f"The word{seed}x{index} of the text is{seed}here." for index in range(100))
    summary = " ".join(f"A sum{seed}x{index} of it is in the text." for index in range(5))
    return Row(f"{package}/{seed}", "Title", document, summary, package, "GPL-3")


def test_markdown_keeps_the_structure() -> None:
    blocks = [TextBlock("Report", "heading", 1), TextBlock("Contents", "notice"), TextBlock(SENTENCE)]
    blocks += [TextBlock("first", "list_item", 1), TextBlock("below", "list_item", 2)]
    blocks += [TextBlock("year 1990", "table_row"), TextBlock("year 1991", "table_row")]
    blocks += [TextBlock("x <- 1\n\ny <- 2", "code"), TextBlock("deep", "list_item", 3)]
    parsed = load_format("markdown")(common.to_markdown(blocks).encode(), DEFAULT_OPTIONS).blocks
    kept = [block for block in blocks if block.kind != "notice"]
    assert [(block.kind, block.text) for block in parsed] == [(block.kind, block.text) for block in kept]
    assert [block.level for block in parsed if block.kind == "list_item"] == [1, 2, 1]


def test_rows_that_cannot_be_used_have_a_reason_and_duplicates_are_dropped() -> None:
    row = make_row("a", 1)
    assert common.fault(row) == ""
    assert common.fault(replace(row, document=f"{row.document} {row.summary.upper()}")) == "reference in the document"
    assert common.fault(replace(row, document="too short")) == "length of the document"
    assert common.fault(replace(row, summary="too short")) == "length of the reference"
    german = "Der Bericht beschreibt die Messungen und ist nicht auf das Tal beschränkt, weil sie auch hier sind. " * 3
    assert common.fault(replace(row, summary=german)) == "language"
    assert common.coverage("The gauges of rivers and seas", "Rivers have gauges.") == 2 / 3
    assert common.coverage("of the", "of") == 0.0
    first, second = row, make_row("b", 2)
    same_document = replace(make_row("c", 3), document=first.document)
    same_summary = replace(make_row("d", 4), summary=second.summary)
    assert list(common.distinct([first, second, same_document, same_summary])) == [first, second]


def test_a_corpus_has_no_package_in_both_halves(tmp_path: Path) -> None:
    rows = [make_row(f"package{seed // 3}", seed) for seed in range(60)]
    common.write_corpus(tmp_path / "kind", rows, per_package=2)
    halves = [common.read_corpus(tmp_path / "kind" / f"{name}.jsonl") for name in common.HALVES]
    assert all(halves)
    assert sum(map(len, halves)) == 40
    assert not {row.package for row in halves[0]} & {row.package for row in halves[1]}
    first = json.loads((tmp_path / "kind/test.jsonl").read_text().partition("\n")[0])
    assert list(first) == ["id", "title", "document", "summary", "package", "licence"]


def test_a_document_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text(f"# Title\n\n{SENTENCE}\n\n# References\n\n[1] A book.\n")
    first = common.parse(file, tmp_path / "cache")
    monkeypatch.setattr(common, "read_documents", None)
    assert common.parse(file, tmp_path / "cache") == first
    assert first.blocks[-1].text == "[1] A book."


def test_packages_have_licences(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/doc/a"
    folder.mkdir(parents=True)
    assert common.debian_licence(tmp_path, "a") == "see copyright"
    (folder / "copyright").write_text("The full text is in /usr/share/common-licenses/GPL-2.\n")
    assert common.debian_licence(tmp_path, "a") == "GPL-2"
    (folder / "copyright").write_text("Files: *\nLicense: Artistic-2.0\n\nFiles: debian/*\nLicense: MIT\n")
    assert common.debian_licence(tmp_path, "a") == "Artistic-2.0"


TITLE = TextBlock("Trees in R", "heading", 1)
HEADING = TextBlock("Abstract", "heading", 4)
ABSTRACT = "This paper introduces trees. They are grown by recursive partitioning."
BODY = (TextBlock("1 Introduction", "heading", 1), TextBlock("Trees have been grown for years."))


def test_the_abstract_and_nothing_else_is_taken_out() -> None:
    for before in (
        (HEADING, TextBlock(ABSTRACT)),
        (TextBlock(f"Abstract. {ABSTRACT}"),),
        (TextBlock("ABSTRACT"), TextBlock(ABSTRACT[:28]), TextBlock(ABSTRACT[29:])),
        (HEADING, TextBlock(ABSTRACT), TextBlock("Keywords: trees, R.")),
        (HEADING, TextBlock(ABSTRACT), TextBlock("Contents", "notice"), TextBlock("1 Introduction 2", "notice")),
        (HEADING, TextBlock(f"{ABSTRACT} This article was published in 2008 by the Journal of Trees.")),
        (HEADING, TextBlock(f"{ABSTRACT} a.author@trees.org")),
        (HEADING, TextBlock("This is a preprint of an article."), TextBlock(ABSTRACT)),
        (HEADING, TextBlock("12", "code"), TextBlock(ABSTRACT), TextBlock("Correspondence: A. Author")),
    ):
        behind = (TextBlock("References", "heading", 1), TextBlock("[1] A book on trees."))
        blocks = (TITLE, TextBlock("A. Author, University of Somewhere", "notice"), *before, *BODY, *behind)
        assert abstracts.split_abstract(blocks) == (ABSTRACT, BODY)
    late = (TITLE, *BODY, HEADING, TextBlock(ABSTRACT))
    for blocks in ((TITLE, *BODY), late):
        assert abstracts.split_abstract(blocks) == ("", blocks)
    sentence = "This long sentence was set in a font of its own, but it is no heading."
    assert abstracts.split_abstract((HEADING, TextBlock(sentence, "heading", 6), *BODY)) == (sentence, BODY)


def test_papers_have_an_abstract_on_their_first_pages_and_a_body(tmp_path: Path) -> None:
    long = (TextBlock("word " * 1000),)
    assert abstracts.is_paper("word " * 40, long)
    assert not abstracts.is_paper("word " * 39, long)
    assert not abstracts.is_paper("word " * 40, BODY)
    file = tmp_path / "a.pdf"
    text = show_lines(["Abstract", *wrap("This paper is about trees and how they grow. " * 6, 60)], 72, 700)
    pages = [show("Trees", 72, 700), text, *[show("Text", 72, 700)] * 3]
    file.write_bytes(pdf(pages))
    assert abstracts.has_abstract(file)
    assert not abstracts.has_abstract(file, max_pages=4)
    short = show_lines(["Abstract", "This is short.", "1 Introduction", *["Trees grow."] * 30], 72, 700)
    for content in (pdf([*pages[2:], *pages[:2]]), pdf([short]), b"%PDF-1.4 damaged"):
        file.write_bytes(content)
        assert not abstracts.has_abstract(file)


def test_documents_with_an_abstract_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "usr/share/doc/texlive-doc/latex/trees"
    folder.mkdir(parents=True)
    abstract = "This paper describes trees. " * 12
    lines = wrap("The trees of this text grow on long lines of words. " * 110, 90)
    first = show("Trees in LaTeX", 200, 720, 18) + show("Abstract", 280, 690, 11, "F2")
    first += show_lines(wrap(abstract, 80), 90, 670) + show("1 Introduction", 72, 590, 14, "F2")
    content = pdf([first + show_lines(lines[:30], 72, 570), show_lines(lines[30:], 72, 720)])
    (folder / "trees.pdf").write_bytes(content)
    (folder / "trees-template.pdf").write_bytes(content)
    (row,) = papers.package_rows("texlive-science-doc", tmp_path, tmp_path / "cache")
    assert row.id == "texlive-science-doc/texlive-doc/latex/trees/trees.pdf"
    assert row.package == "texlive-science-doc/trees"
    assert row.summary == abstract.strip()
    assert "This paper describes" not in row.document
    assert row.document.count("trees of this text") == 110
    assert papers.part_of_tex_live("dynare/dr.pdf.gz") == ""


VIGNETTE = """---
title: 'Trees with `r Biocpkg("trees")`'
abstract: >
  This *vignette* introduces `r Biocpkg("trees")`.
  {SENTENCES}
  Trees package version: `r packageVersion("trees")`
output: html
---

```{r setup, include=FALSE}
library(trees)
```

```{r}
knitr::opts_chunk$set(comment = "")
```

# Introduction

{BODY}

```{r}
grow()
```

# References
"""


def test_vignettes_in_markdown(tmp_path: Path) -> None:
    library = tmp_path / "usr/lib/R/site-library/trees"
    (library / "doc").mkdir(parents=True)
    (library / "DESCRIPTION").write_text("Package: trees\nLicense: GPL (>= 2)\n")
    body = "Trees are grown here. " * 260
    sentences = "They are grown by the partitioning of data. " * 5
    text = VIGNETTE.replace("{BODY}", body).replace("{SENTENCES}", sentences)
    (library / "doc/trees.Rmd").write_text(text)
    (library / "doc/other.Rmd").write_text(f"# No abstract\n\n{body}\n")
    (library / "doc/broken.Rmd").write_text(f"---\nabstract: [\n---\n\n{body}\n")
    (row,) = vignettes.package_rows("r-cran-trees", tmp_path, tmp_path / "cache")
    assert (row.id, row.package, row.licence) == ("r-cran-trees/trees.Rmd", "r-cran-trees", "GPL (>= 2)")
    assert row.title == "Trees with trees"
    assert row.summary == f"This vignette introduces trees. {sentences}".strip()
    assert row.document == f"# Introduction\n\n{body.strip()}\n\n```\ngrow()\n```"


CONTROL = """Package: demo
Version: 1.0
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: average measurements
 {}
 .
 Features:
  * fast
  * small
 .
 This package contains the Python 3 version.
"""


def test_the_description_of_the_package_is_the_reference_of_its_readme(tmp_path: Path) -> None:
    if not shutil.which("dpkg-deb"):
        pytest.skip("needs dpkg")
    first = "Frobnicate averages measurements of reservoirs and writes a table of yearly means. " * 4
    readme = "The program opens the files with measurements of reservoirs and averages the years in a table. " * 40
    package = tmp_path / "demo"
    documents = package / "usr/share/doc/demo"
    for folder in (package / "DEBIAN", documents / "examples"):
        folder.mkdir(parents=True)
    (package / "DEBIAN/control").write_text(CONTROL.format(first.strip()))
    for name in ("README.md", "guide.html", "changelog.html", "examples/README.md", "README.Debian"):
        (documents / name).write_text(f"# Demo\n\n{readme}")
    subprocess.run(["dpkg-deb", "--build", str(package), str(tmp_path / "demo_1.0_all.deb")], check=True)
    (row,) = descriptions.rows({"demo": package}, tmp_path / "cache")
    assert (row.id, row.summary) == ("demo/README.md", first.strip())
    assert row.document.startswith("# Demo\n\nThe program opens")
    assert [path.name for path in descriptions.documents(package)] == ["README.md", "guide.html"]


WIKITEXT = f"""{{{{Taxobox|name=[[Dipper]]}}}}
[[File:Dipper.jpg|thumb|A [[dipper]] on a stone]]
The '''dipper''' (''Cinclus'', ) is a [[bird|songbird]] of [[stream]]s.<ref>{{{{cite|a={{{{b}}}}}}}}</ref> \
{"It walks under water to find larvae of insects between the stones. " * 4}

== Habitat ==
{{| class=table
| cell
|}}
It lives near [http://example.org clear] streams.
* in winter
* in summer

=== Winter ===
{"Dippers stay near the water in winter, if the streams do not freeze over the whole of their length. " * 30}

== See also ==
=== Others ===
* [[Heron]]

== Nests ==
Under bridges.
[[Category:Birds]]
"""


def test_the_lead_of_an_article_is_the_reference(tmp_path: Path) -> None:
    text = WIKITEXT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    redirect = "<page><title>Ouzel</title><redirect/><text>#REDIRECT</text></page>"
    dump = f'<x>{redirect}<page><title>Dipper</title><text xml:space="preserve">{text}</text></page></x>'
    with ZipFile(tmp_path / "gensim.whl", "w") as archive:
        archive.writestr(encyclopaedia.MEMBER, bz2.compress(dump.encode()))
    (row,) = encyclopaedia.rows(tmp_path / "gensim.whl")
    assert (row.id, row.title) == ("gensim/Dipper", "Dipper")
    assert row.summary.startswith("The dipper (Cinclus, ) is a songbird of streams. It walks")
    title, habitat, winter, nests = row.document.split("\n\n#")
    assert title == "# Dipper"
    assert habitat == "# Habitat\n\nIt lives near clear streams.\n- in winter\n- in summer"
    assert winter.startswith("## Winter\n\nDippers stay")
    assert nests == "# Nests\n\nUnder bridges."


def test_the_first_paragraph_of_a_manual_page_is_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manuals, "MIN_BYTES", 1)
    description = (
        "The frobnicate command reads measurements of the reservoirs from its files and writes a table of yearly means "
        "to standard output, so that the years can be compared with each other by other programs of the suite."
    )
    rest = "It opens one file after another and closes it before the next one is read by the program. " * 60
    page = f".TH FROBNICATE 1\n.SH NAME\nfrobnicate \\- average\n.SH DESCRIPTION\n{description}\n.PP\n{rest}\n"
    manual = tmp_path / "demo/usr/share/man/man1/frobnicate.1.gz"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(gzip.compress(page.encode()))
    (row,) = manuals.rows({"demo": tmp_path / "demo"}, tmp_path / "cache")
    assert (row.id, row.title, row.summary) == ("demo/frobnicate.1", "frobnicate", description)
    assert "# DESCRIPTION\n\nIt opens" in row.document
    assert description not in row.document
    manual.write_bytes(gzip.compress(page.replace(".SH DESCRIPTION\n", ".SH DESCRIPTION\n.IP a\n").encode()))
    assert not list(manuals.rows({"demo": tmp_path / "demo"}, tmp_path / "cache")), "it begins with a list"


OVERVIEW = (
    "The pipeline reads the measurements of all reservoirs, removes the years in which a gauge was broken, and writes "
    "a table of yearly means, which the other programs of the suite compare with the forecasts of the models."
)
REST = "A gauge of the reservoirs writes measurements, and programs of the suite compare yearly means with forecasts. "
LISTED = TextBlock("one", "list_item", 1)
GUIDE = TextBlock("Guide", "heading", 1)


def test_the_section_overview_is_the_reference(tmp_path: Path) -> None:
    file = tmp_path / "usr/share/doc/demo/guide.html"
    file.parent.mkdir(parents=True)
    for heading, text, is_taken in (
        ("Overview", OVERVIEW, True),
        ("1. Introduction", OVERVIEW, True),
        ("Executive Summary", OVERVIEW, True),
        ("What is the pipeline?", OVERVIEW, True),
        ("Gauges", OVERVIEW, False),
        ("Overview", "Short.", False),
    ):
        body = f"<h1>Guide</h1><h2>{heading}</h2><p>{text}</p><h2>Gauges</h2><p>{REST * 40}</p>"
        file.write_text(f"<html><head><title>Guide</title></head><body><main>{body}</main></body></html>")
        row = overviews.to_row(file.relative_to(tmp_path), tmp_path, "demo", "MIT", tmp_path / "cache")
        assert (row is not None) == is_taken
        if row:
            assert (row.id, row.summary, row.licence) == ("demo/demo/guide.html", OVERVIEW, "MIT")
            assert row.document.startswith("# Guide\n\n## Gauges\n\n")


def test_an_overview_is_at_the_beginning_has_no_list_and_shares_words_with_the_page() -> None:
    blocks = [GUIDE, TextBlock("Overview", "heading", 2), TextBlock(OVERVIEW)]
    blocks += [TextBlock("Its parts are:"), LISTED, TextBlock("More."), *[LISTED] * 10]
    assert overviews.overview(blocks, without_section=False) == (2, 3)
    late = [GUIDE, *[LISTED] * 10, TextBlock("Summary", "heading", 2), TextBlock(OVERVIEW)]
    assert overviews.overview(late, without_section=False) == (0, 0)
    reference = [TextBlock("zip", "heading", 1), TextBlock("Source code: Lib/zip.py"), TextBlock(OVERVIEW), LISTED]
    assert overviews.overview(reference, without_section=True) == (2, 3)
    rest = [TextBlock("Of another subject altogether, namely birds. " * 60)]
    assert not overviews.is_overview(OVERVIEW, rest)
    assert overviews.is_overview(OVERVIEW, [*rest, TextBlock(OVERVIEW)])


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
