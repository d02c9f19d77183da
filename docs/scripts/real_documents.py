"""Summarise a seeded draw of real documents and write docs/real-documents.md.

    python docs/scripts/real_documents.py FOLDER [--seed 90] [--out docs/real-documents.md]

FOLDER holds one folder per package: Debian packages unpacked by `dpkg -x`, source packages of PyPI and npm as
`pypi-NAME-VERSION`, the RFC series (doc-rfc-*) as `doc-rfc`, and /usr/share/common-licenses as `common-licenses`. KINDS
lists the kinds of documents, how many of each are drawn, and the files that they are drawn from; rules exclude files by
their names and sizes, by their words (at least 120, 30 in mails) and by their language, never by their summaries. A
file is drawn by the SHA-256 of seed and path, at most one of a package for each kind where there are enough packages.

The verdicts of a reader lie in real_documents_verdicts.json, by path. A verdict holds for the summary that was read: if
the summary has changed since, the page says so.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sumpool.cli.rendering import Rendering
from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.text.language import detect_language, word_count
from sumpool.workflows.summarize import summarize

VERDICTS = Path(__file__).with_name("real_documents_verdicts.json")
PAGE = Path(__file__).parents[1] / "real-documents.md"
SEED = 90
MIN_BYTES, MAX_BYTES = 1_500, 2_000_000
INDEX_PAGE = re.compile(
    r"(?:gen|py-mod|mod)?index|search|toc|contents|copyright|genindex|_sources|about|refcard|quickref|^ld-",
    re.IGNORECASE,
)
"""Names of pages without prose."""


@dataclass(frozen=True)
class Kind:
    """A kind of document.

    Attributes:
        name: Name of the kind.
        count: Documents to draw.
        patterns: Glob patterns of its files below the folder of packages.
        language: Language of the documents; empty if it may be any.
        min_words: Words of a document at least.
    """

    name: str
    count: int
    patterns: tuple[str, ...]
    language: str = ""
    min_words: int = 120


KINDS = (
    Kind(
        "standard",
        2,
        ("debian-policy/**/policy.html/ch-*.html", "debian-policy/**/*-policy*.txt.gz", "debian-policy/**/fhs*.txt*"),
    ),
    Kind("policy", 2, ("doc-debian/**/*.txt*", "developers-reference/**/*.en.html", "developers-reference/**/*.html")),
    Kind(
        "handbook (PDF)",
        3,
        (
            "r-doc-pdf/**/*.pdf",
            "lilypond-doc-pdf/**/*.pdf",
            "texlive-*-doc/**/*.pdf",
            "c++-annotations-pdf/**/*.pdf",
            "live-manual-pdf/**/*en*.pdf",
            "octave-doc/**/*.pdf",
            "gretl-doc/**/doc/gretl-*.pdf",
            "ubuntu-packaging-guide-pdf/**/*guide.pdf",
            "glpk-doc/**/*.pdf",
            "zsh-doc/**/*.pdf",
            "debian-handbook/**/*.pdf",
        ),
    ),
    Kind("minutes", 2, ("doc-rfc/*.txt*",)),
    Kind(
        "FAQ",
        2,
        (
            "debian-faq/**/ch*.en.html",
            "python3.11-doc/**/faq/*.html",
            "git-doc/**/gitfaq.html",
            "irssi/**/faq*",
            "privoxy/**/faq/*.html",
            "gnupg/**/FAQ",
            "cvs/**/FAQ.gz",
            "zsh-doc/**/FAQ*.html",
        ),
    ),
    Kind("changelog", 2, ("*/**/NEWS.gz", "*/**/NEWS", "*/**/NEWS.md.gz", "pypi-*/CHANGES*", "pypi-*/CHANGELOG*")),
    Kind("licence", 2, ("common-licenses/*", "pypi-*/**/LICENSE*", "pypi-*/**/LICENCE*")),
    Kind(
        "README",
        3,
        (
            "pypi-*/README*",
            "pypi-*/package/[Rr]eadme*",
            "*/usr/share/doc/*/README.md.gz",
            "*/usr/share/doc/*/README.gz",
        ),
    ),
    Kind(
        "mail",
        2,
        ("pypi-talon-*/tests/fixtures/**/*.eml", "pypi-mail_parser-*/tests/mails/*", "pypi-*/**/*.eml"),
        min_words=30,
    ),
    Kind(
        "tutorial",
        2,
        (
            "python3.11-doc/**/tutorial/*.html",
            "git-doc/**/*tutorial*.html",
            "maint-guide/**/*.en.html",
            "python3.11-doc/**/howto/*.html",
        ),
    ),
    Kind("paper (PDF)", 2, ("r-cran-*/**/doc/*.pdf", "cvs/**/cvs-paper.pdf", "lhs2tex/**/*.pdf")),
    Kind(
        "German",
        2,
        ("debian-reference-de/**/ch*.de.html", "gimp-help-de/**/*.html", "manpages-de/**/man[178]/*.gz"),
        "de",
    ),
    Kind("Russian", 2, ("aptitude-doc-ru/**/*.html", "gimp-help-ru/**/*.html", "manpages-ru/**/man[178]/*.gz"), "ru"),
    Kind("Chinese", 2, ("installation-guide-amd64/**/zh_CN/*.html", "manpages-zh/**/zh_CN/man[178]/*.gz"), "zh"),
)
MINUTES = re.compile(r"minutes|meeting notes|report (?:from|of) the|workshop|services meeting", re.IGNORECASE)
"""Titles of RFCs that are minutes or reports of a meeting."""


@dataclass(frozen=True)
class Drawn:
    """A drawn document: its kind, its path below the folder, and its summary as it is printed or why there is none."""

    kind: str
    path: str
    words: int
    summary: str
    reason: str


def files(folder: Path, kind: Kind) -> Iterator[Path]:
    """Yield the files of a kind that follow the rules, in alphabetical order."""
    paths = {path for pattern in kind.patterns for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        size = path.stat().st_size * (3 if path.suffix == ".gz" else 1)
        has_prose = MIN_BYTES <= size <= MAX_BYTES and not INDEX_PAGE.search(path.stem) and "_sources" not in path.parts
        if has_prose and (kind.name != "minutes" or MINUTES.search(_rfc_title(path))):
            yield path


def _rfc_title(path: Path) -> str:
    described = path.with_name(f"{path.name.split('.')[0]}.json")
    return str(json.loads(described.read_text())["title"]) if described.is_file() else ""


def draw(folder: Path, kind: Kind, seed: int) -> list[tuple[Path, Document]]:
    """Draw the documents of a kind, of different packages where there are enough."""
    documents = ((path, next(iter(read_documents(str(path))))) for path in ranked_files(folder, kind, seed))
    suitable = ((path, document) for path, document in documents if is_suitable(document, kind))
    return list(islice(suitable, kind.count))


def is_suitable(document: Document, kind: Kind) -> bool:
    """Return whether a document has enough words in the language of its kind; one that cannot be read counts."""
    if document.error:
        return True
    return word_count(document.text) >= kind.min_words and kind.language in ("", detect_language(document.text))


def ranked_files(folder: Path, kind: Kind, seed: int) -> list[Path]:
    """Return the files of a kind in the order of the draw."""
    paths = list(files(folder, kind))

    def order(path: Path) -> str:
        return hashlib.sha256(f"{seed} {path.relative_to(folder)}".encode()).hexdigest()

    packages: dict[str, list[Path]] = {}
    for path in sorted(paths, key=order):
        packages.setdefault(path.relative_to(folder).parts[0], []).append(path)
    # packages in the order of a draw of their own, so that one of many files is not preferred
    names = sorted(packages, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())
    ranked = sorted((rank, names.index(name), path) for name in names for rank, path in enumerate(packages[name]))
    return [path for _, _, path in ranked]


def summarize_all(folder: Path, seed: int) -> list[Drawn]:
    """Summarise the drawn documents with the shipped model and its default settings."""
    drawn = [(kind.name, path, document) for kind in KINDS for path, document in draw(folder, kind, seed)]
    summaries = summarize([document for _, _, document in drawn])
    return [
        Drawn(
            kind,
            str(path.relative_to(folder)),
            word_count(document.text),
            Rendering().render(summary) if summary.summary else "",
            summary.reason,
        )
        for (kind, path, document), summary in zip(drawn, summaries, strict=True)
    ]


def page(drawn: Sequence[Drawn], verdicts: dict[str, dict[str, str]]) -> str:
    """Render the page."""
    judged = [verdicts.get(item.path, {}) for item in drawn]
    current = [verdict.get("summary") == item.summary for verdict, item in zip(judged, drawn, strict=True)]
    counts = {
        aspect: sum(verdict.get(aspect) == "yes" for verdict, valid in zip(judged, current, strict=True) if valid)
        for aspect in ("true", "principal", "readable")
    }
    good = sum(
        valid and all(verdict.get(aspect) == "yes" for aspect in counts)
        for verdict, valid in zip(judged, current, strict=True)
    )
    lines = [
        "# Real documents",
        "",
        _HEAD.format(documents=len(drawn), seed=SEED, good=good, **counts),
        "",
    ]
    for item, verdict, valid in zip(drawn, judged, current, strict=True):
        lines += [f"## {item.kind}: `{item.path}`", "", f"{item.words:,} words.", ""]
        shown = item.summary or f"No summary: {item.reason}"
        lines += [f"> {line}".rstrip() for line in shown.split("\n")] + [""]
        if valid:
            marks = ", ".join(f"{name}: {verdict[key]}" for name, key in _ASPECTS)
            lines += [f"{marks}. {verdict['note']}".rstrip(), ""]
        else:
            lines += ["Not judged.", ""]
    return "\n".join(lines)


_HEAD = """\
{documents} documents drawn by `docs/scripts/real_documents.py` (seed {seed}) and summarised by the shipped model
with its default settings. One reader compared each with the first 75 words of its source, and few with more of it;
no summary was checked sentence by sentence against a whole file. {good} summaries are good in all three
respects, {true} are true, {principal} are about the principal thing, and {readable} are readable, without fragments and
without references to omitted text. One sentence that leans on the text around it makes a summary not readable; a
file that cannot be read counts as not good.

The goal of 27 in 30 is missed by four. What is wrong with the others:

- A chapter on the operating system: one of its sentences is two, as in the source.
- A manual on installing R: details of single steps, in place of what it covers.
- A collection of plots whose first sentence has no verb.
- A lesson on colour modes, where "this" refers to a sentence that is left out.
- The last chapter of a tutorial, where "this manual" is one that an omitted sentence names.
- A call for a meeting, without where and when it is.
- A mail about a debt: the news below its text.

Where a summary does not name the title, the title stands above it, as the command prints it; it says what a chapter of
collected rules is about. The rules were developed on the draws of seeds 41 to 46. The first reading of 41 and 42,
before the change of rules, had 10 and 14 good summaries by the same strict measure, and 23 and 24 after it. Fresh
draws were read in turn, each with the rules as they were then, and its faults mended where a general rule could: of
seeds 51 to 55, 21, 23, 19, 20 and 18 summaries were good, of 56 to 60, 22, 25, 23, 24 and 24, of 61 to 65, 23, 25, 25,
25 and 25. Seed 71, of packages installed anew, had 20 of 29, among the faults answers of an FAQ without their
questions, a list of changes taken for an FAQ, a file whose letters were symbols, and sentences about a line of an
omitted listing. These were mended, and seed 72 had 24 of 29. Of packages installed anew once more, seeds 83, 84 and 85
had 24 of 30 each, read beside their sources only where in doubt; after each of them what a general rule can mend was
mended: questions and answers in one paragraph, numbers before questions, "Abstract:" before a sentence, "We have now
...", "the alternative", "these programmers", sections and other sentences that German, French and Russian sentences
refer to, and sentences that end with "when". Seed 86 had 25 of 30; seeds 87, 88 and 89 had
26, 25 and 25 by a reading of the summaries, mostly without their sources. After these, stars before headings, lists
with wide spaces, headings above changes and further German and Russian references were mended. Seed 90, which is shown
here, had 25 by such a reading, and 22 beside the beginnings of its sources: readings of summaries alone are too
favourable. Then a change that stood twice in a list was mended, so that {good} are good now. Seeds 95, 96 and 97 had
24, 23 and 26 of 30 beside the first 80 to 100 words of each source; a frame around a title, an address in a sentence, a
payment, contents in Chinese and a preface as a title were mended, and the summaries were not counted again. Kinds of
few packages share documents: the lists of questions, some licences and half of the tutorials were in earlier draws."""
_ASPECTS = (("true", "true"), ("about the principal thing", "principal"), ("readable", "readable"))


def main() -> None:
    """Draw, summarise and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=PAGE)
    arguments = parser.parse_args()
    verdicts = json.loads(VERDICTS.read_text()) if VERDICTS.is_file() else {}
    arguments.out.write_text(page(summarize_all(arguments.folder, arguments.seed), verdicts))


if __name__ == "__main__":
    main()
