"""Articles of the English Wikipedia with their lead section as the reference, which is removed from the article.

    python recipes/outside/encyclopaedia.py OUT

The articles are a part of a dump of 2015 that the PyPI package gensim carries as test data. They come from one package,
and are assigned to the halves by their titles instead.
"""

import bz2
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from common import Row, download_wheel, write_corpus

PACKAGE = "gensim==4.4.0"
MEMBER = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
LICENCE = "CC-BY-SA-3.0"
REFERENCE_WORDS = range(40, 401)
BACK_MATTER = frozenset(
    ("see also", "references", "external links", "further reading", "notes", "bibliography", "footnotes", "sources",
     "notes and references", "citations", "works cited", "gallery", "filmography", "discography")
)  # fmt: skip
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{\|(?:(?!\{\||\|\}).)*\|\}", re.DOTALL)
_FILE = re.compile(
    r"\[\[(?:File|Image|Category|[a-z-]{2,12}):(?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*\]\]", re.IGNORECASE
)
_REMOVED = re.compile(
    r"<!--.*?-->|<ref[^<>]*/>|<ref[^<>]*>.*?</ref>|<(gallery|math|timeline|imagemap|score)\b.*?</\1>|<[^<>]+>|"
    r"__[A-Z]+__",
    re.DOTALL | re.IGNORECASE,
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_ADDRESS = re.compile(r"\[(?:https?:)?//\S+\s*([^\[\]]*)\]")
_HEADING = re.compile(r"(={2,6})\s*(.*?)\s*=+\s*$")


def rows(wheel: Path) -> Iterator[Row]:
    """Yield the articles with a lead of the right length."""
    with ZipFile(wheel) as archive:
        dump = bz2.decompress(archive.read(MEMBER)).decode()
    for page in dump.split("<page>")[1:]:
        title = re.search(r"<title>(.*?)</title>", page)
        text = re.search(r"<text[^>]*>(.*)</text>", page, re.DOTALL)
        if not title or not text or "<redirect" in page or ":" in title[1]:
            continue
        lead, *sections = markdown(html.unescape(html.unescape(text[1])))
        paragraphs = [part for part in lead.split("\n\n") if part and not part.startswith("- ")]
        while paragraphs and len(" ".join(paragraphs).split()) >= REFERENCE_WORDS.stop:
            paragraphs.pop()
        name = html.unescape(title[1])
        reference = " ".join(paragraphs)
        if len(reference.split()) in REFERENCE_WORDS:
            document = "\n\n".join([f"# {name}", *sections])
            yield Row(f"gensim/{name}", name, document, reference, f"gensim/{name}", LICENCE)


def markdown(text: str) -> list[str]:
    """Write wikitext as Markdown: the lead, then the other sections without back matter."""
    text = _REMOVED.sub("", text)
    previous = ""
    while previous != text:
        previous, text = text, _TEMPLATE.sub("", text)
    text = _LINK.sub(r"\1", _FILE.sub("", _FILE.sub("", text)))
    text = re.sub(r"'{2,}", "", _ADDRESS.sub(r"\1", text))
    text = re.sub(r"\(\s*[;,\u2013]\s*", "(", re.sub(r"\(\s*(?:[;,]\s*)*\)", "", text))
    text = re.sub(r" +(?=[,.;])|(?<= ) +", "", text.replace("\u00a0", " "))
    sections, skipped = [""], 0
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            level = len(heading[1])
            if skipped and level > skipped:
                continue
            skipped = level if heading[2].lower() in BACK_MATTER else 0
            if not skipped:
                sections.append(f"{'#' * level} {heading[2]}")
        elif not skipped and (line := line.strip()):
            item = re.match(r"[*#:;]+\s*(.*)", line)
            sections[-1] += ("\n- " + item[1]) if item and item[1] else "" if item else "\n\n" + line
    return [re.sub(r"(?<!\n)\n- ", "\n- ", section).strip() for section in sections]


def main(out: Path) -> None:
    """Download the package and write the corpus."""
    wheel = download_wheel(PACKAGE, out / "packages")
    write_corpus(out / "encyclopaedia", rows(wheel), per_package=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
