"""Comparison of command-line summarisers on the same files: `docs/other-tools.md`.

    python docs/scripts/other_tools.py PACKAGES [--sumy PATH] [--textsum PATH] [--ots PATH]

PACKAGES is a folder with the Debian packages and source archives of `FILES`, unpacked. Every tool gets every file as
its users would give it, with a request for about 75 words in the unit that it offers. sumy needs tokenizer data of
NLTK, which it does not bring; the script gives it the sentence parameters of sumpool in NLTK's format.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

FILES = (
    "doc-debian/usr/share/doc/debian/social-contract.txt.gz",
    "texlive-latex-base-doc/usr/share/doc/texlive-doc/latex/natbib/natnotes.pdf",
    "pypi/rich-*/README.md",
    "pypi/flask-*/docs/tutorial/database.rst",
    "debian-policy/usr/share/doc/debian-policy/policy.html/ch-binary.html",
    "manpages/usr/share/man/man7/vdso.7.gz",
    "developers-reference/usr/share/developers-reference/developers-reference.epub",
    "debian-handbook/usr/share/doc/debian-handbook/html/en-US/sect.package-meta-information.html",
    "manpages-ru/usr/share/man/ru/man7/signal.7.gz",
    "pypi/talon-*/tests/fixtures/reply-quotations-share-block.eml",
)
"""Files, of as many kinds; a pattern stands for the first match."""

_WORDS = 75
_SHOWN = 400
"""Characters of a result that are shown."""
_SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """Result of a tool for a file.

    Attributes:
        text: Standard output.
        error: Last line of standard error if the tool failed; empty otherwise.
        seconds: Time from start to end.
    """

    text: str
    error: str
    seconds: float


def main() -> None:
    """Run all tools on all files and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    for tool in ("sumy", "textsum", "ots"):
        parser.add_argument(f"--{tool}", default=tool)
    parser.add_argument("--out", type=Path, default=Path("docs/other-tools.md"))
    arguments = parser.parse_args()
    sources = [next(iter(sorted(arguments.packages.glob(pattern))), None) for pattern in FILES]
    present = [source for source in sources if source]
    print(f"{len(present)} of {len(FILES)} files", file=sys.stderr)  # noqa: T201
    with tempfile.TemporaryDirectory() as data:
        _write_nltk_data(Path(data))
        environment = os.environ | {"NLTK_DATA": data, "HF_HUB_OFFLINE": "1"}
        outcomes = {
            source: {name: _run(command, environment) for name, command in _commands(source, arguments).items()}
            for source in present
        }
    arguments.out.write_text(_page(arguments.packages, outcomes), encoding="utf-8")


def _commands(source: Path, tools: argparse.Namespace) -> dict[str, list[str]]:
    words = max(len(source.read_bytes().split()), 1)
    return {
        "sumpool": [sys.executable, "-m", "sumpool", "summarize", str(source), "--length", f"{_WORDS}w"],
        "sumy lex-rank": [tools.sumy, "lex-rank", "--length=3", f"--file={source}"],
        "ots": [tools.ots, f"--ratio={max(1, round(100 * _WORDS / words))}", str(source)],
        "textsum": [*tools.textsum.split(), str(source.parent), "--output_folder=/tmp/textsum"],
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> Outcome:
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, env=environment, check=False)
    except FileNotFoundError:
        return Outcome("", "not installed", 0.0)
    except subprocess.TimeoutExpired:
        return Outcome("", f"no result after {_SECONDS} s", _SECONDS)
    seconds = time.perf_counter() - start
    text, errors = (stream.decode(errors="replace").strip() for stream in (done.stdout, done.stderr))
    error = (errors.splitlines() or [f"exit code {done.returncode}"])[-1] if done.returncode else ""
    return Outcome(" ".join(text.split()), error, seconds)


def _write_nltk_data(folder: Path) -> None:
    """Write the sentence parameters of sumpool where NLTK looks for its own."""
    parameters = json.loads(files("sumpool.text").joinpath("english.json").read_text("utf-8"))
    target = folder / "tokenizers" / "punkt_tab" / "english"
    target.mkdir(parents=True)
    columns = {
        "abbrev_types.txt": parameters["abbreviations"],
        "collocations.tab": [pair.replace(" ", "\t") for pair in parameters["collocations"]],
        "sent_starters.txt": parameters["sentence_starters"],
        "ortho_context.tab": [f"{word}\t{flags}" for word, flags in parameters["orthographic_context"].items()],
    }
    for name, lines in columns.items():
        (target / name).write_text("\n".join(lines), "utf-8")


def _page(packages: Path, outcomes: Mapping[Path, Mapping[str, Outcome]]) -> str:
    tools = list(next(iter(outcomes.values())))
    parts = [
        "# Other tools\n",
        f"Summaries of ten files by command-line tools, about {_WORDS} words each, as the tools print them; "
        "made by `python docs/scripts/other_tools.py PACKAGES`. sumy was given tokenizer data, as it brings none; "
        "textsum reads folders of `.txt` files only and needs a model from a hub, which there is none of offline.\n",
    ]
    parts.append("| file | " + " | ".join(tools) + " |\n|---|" + "---|" * len(tools))
    for source, results in outcomes.items():
        parts.append(f"| {source.name} | " + " | ".join(map(_cell, results.values())) + " |")
    for source, results in outcomes.items():
        parts.append(f"\n## `{source.relative_to(packages)}`\n")
        for tool, outcome in results.items():
            text = _printable(outcome.error or outcome.text)
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
            parts.append(
                f"**{tool}**{' failed' if outcome.error else ''}, {outcome.seconds:.1f} s:\n\n> `` {shown} ``\n"
            )
    return "\n".join(parts) + "\n"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _cell(outcome: Outcome) -> str:
    return f"{'failed' if outcome.error else f'{len(outcome.text.split())} words'}, {outcome.seconds:.1f} s"


if __name__ == "__main__":
    main()
