from pathlib import Path

import papers

from tests.documents.formats.pdf_files import pdf, show, show_lines, wrap


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


def test_packages_of_tex_live() -> None:
    assert papers.part_of_tex_live("texlive-doc/latex/trees/doc/trees.pdf") == "trees"
    assert papers.part_of_tex_live("dynare/dr.pdf.gz") == ""
