"""Compare `sumpool summarize` with other ways to summarise, at equal words: the tables of docs/other-tools.md.

    python docs/scripts/other_tools.py OUT --outside FOLDER --sumy PYTHON [--server URL PID]

Documents are 20 RFCs of the bundled test split and 10 rows that `recipes/outside` wrote to FOLDER/KIND/test.jsonl. Each
is a file that a new process summarises; reported are its processor seconds and largest resident memory, with those of
the server of a language model. PYTHON has sumy; URL is the API of llama.cpp's server, PID its process. Summaries are
kept in OUT/SYSTEM.jsonl, where the same command continues.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from sumpool.data.sources import RfcSourceConfig
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.rouge import Rouge, RougeTokenizer
from sumpool.inference.fact_check import FactChecker
from sumpool.text.fragments import unsupported_facts
from sumpool.text.language import split_words
from sumpool.text.sentences import SentenceSplitter

KINDS, EACH = ("descriptions", "overviews"), 5
WORDS = 80
SERVER_DOCUMENTS = 16  # of the systems with a language model, which are slow
CONTEXT, ANSWER = 2048, 160  # tokens of the model alone
PROMPT = f"Summarize this document in about {WORDS} words.\n\n"
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
SUMY = """
import sys
from itertools import accumulate
from nltk.tokenize import TreebankWordTokenizer
from sumy.nlp.stemmers import Stemmer
from sumy.parsers.plaintext import PlaintextParser
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.utils import get_stop_words
class Tokenizer:  # that of sumy needs data of NLTK, which no package index has
    language = "english"
    to_sentences = staticmethod(lambda sentence: [sentence])
    to_words = staticmethod(lambda text: [word for word in TreebankWordTokenizer().tokenize(text) if word.isalpha()])
def first(rated):  # as many of the best sentences as have the words
    words = list(accumulate(len(str(each.sentence).split()) for each in rated))
    return rated[: sum(count < int(sys.argv[1]) for count in words) + 1]
summarizer = LexRankSummarizer(Stemmer("english"))
summarizer.stop_words = get_stop_words("english")
print(*summarizer(PlaintextParser.from_string(sys.stdin.read(), Tokenizer()).document, first), sep="\\n\\n")
"""
SPLITTER, TOKENIZER = SentenceSplitter(), RougeTokenizer(stemmer=True)
Made = tuple[str, float, float]  # summary, processor seconds, megabytes


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--outside", type=Path, required=True)
    parser.add_argument("--sumy", required=True)
    parser.add_argument("--server", nargs=2, metavar=("URL", "PID"), default=("", ""))
    options = parser.parse_args()
    url, server = options.server
    ours = [sys.executable, "-m", "sumpool", "summarize", "--length", f"{WORDS}w", "--format", "json"]
    systems: dict[str, Callable[[Path], Made]] = {
        "LEAD": lambda path: ("\n\n".join(_begun(_sentences(path), WORDS)), 0.0, 0.0),
        "sumy": lambda path: _run([options.sumy, "-c", SUMY, str(WORDS)], "\n\n".join(_sentences(path))),
        "fast": lambda path: _run([*ours, "--fast", str(path)]),
        "default": lambda path: _run([*ours, str(path)]),
        "rewrite": lambda path: _run([*ours, "--rewrite", url, str(path)]),
        "model": lambda path: (_ask(url, " ".join(_sentences(path))), 0.0, 0.0),
    }
    rows, made = list(_documents(options.out, options.outside)), dict[str, dict[str, Made]]()
    for name in list(systems)[: None if url else -2]:
        pid, count = (server, SERVER_DOCUMENTS) if name in ("rewrite", "model") else ("", len(rows))
        with (options.out / f"{name}.jsonl").open("a+") as stream:
            stream.seek(0)
            made[name] = found = {id: (text, time, peak) for id, text, time, peak in map(json.loads, stream)}
            for id, path, _ in (row for row in rows[:count] if row[0] not in found):
                before = _usage(pid)
                text, time, peak = systems[name](path)
                after = _usage(pid)
                found[id] = (text, time + after[0] - before[0], peak + after[1])
                stream.write(json.dumps([id, *found[id]]) + "\n")
                stream.flush()
    for count in sorted({len(found) for found in made.values()}, reverse=True):
        _write_table(rows[:count], {name: found for name, found in made.items() if len(found) >= count})


def _documents(out: Path, outside: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield id, file and reference of each document, two RFCs before each of another kind."""
    rfcs = [(each.id, each.document, each.summary) for each in RfcSourceConfig().examples("test")][::5]
    kinds = [[json.loads(line) for line in (outside / kind / "test.jsonl").open()] for kind in KINDS]
    spread = zip(*(rows[:: len(rows) // EACH][:EACH] for rows in kinds), strict=True)
    others = [(row["id"], row["document"], row["summary"]) for each in spread for row in each]
    for triple in zip(rfcs[::2], rfcs[1::2], others, strict=True):
        for suffix, (id, document, reference) in zip(("txt", "txt", "md"), triple, strict=True):
            path = out / f"{id.replace('/', '_')}.{suffix}"
            path.write_text(document)
            yield id, path, reference


def _sentences(path: Path) -> list[str]:
    (document,) = read_documents(str(path))
    return [" ".join(sentence.text.split()) for sentence in source_sentences(document, SPLITTER)]


def _begun(sentences: Sequence[str], words: int) -> list[str]:
    """Return the sentences that begin within a number of words."""
    counts = [TOKENIZER.count_words(sentence) for sentence in sentences]
    return [
        sentence
        for sentence, end, count in zip(sentences, accumulate(counts), counts, strict=True)
        if end - count < words
    ]


def _run(command: Sequence[str], text: str = "") -> Made:
    measured = [sys.executable, "-c", MEASURE, *command]
    process = subprocess.run(measured, input=text, capture_output=True, text=True, check=True)
    seconds, kilobytes = process.stderr.split()[-2:]
    summary = json.loads(process.stdout)["summary"] if "sumpool" in command else process.stdout
    return summary, float(seconds), int(kilobytes) * 1024 / 1e6


def _usage(pid: str) -> tuple[float, float]:
    """Return the processor seconds and the most megabytes of a server until now."""
    if not pid:
        return 0.0, 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak) * 1024 / 1e6


def _ask(url: str, text: str) -> str:
    """Return the answer of a model to as much of a text as it reads, with the settings of the card of SmolLM2."""

    def post(address: str, **body: Any) -> dict[str, Any]:  # noqa: ANN401 - values of JSON
        request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=1800) as answer:
            return json.load(answer)  # type: ignore[no-any-return]

    tokens = post(url.removesuffix("/v1") + "/tokenize", content=text)["tokens"][: CONTEXT - ANSWER - 60]
    prompt = PROMPT + post(url.removesuffix("/v1") + "/detokenize", tokens=tokens)["content"]
    settings = {"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.1, "seed": 0, "max_tokens": ANSWER}
    answer = post(url + "/chat/completions", messages=[{"role": "user", "content": prompt}], **settings)
    return " ".join(answer["choices"][0]["message"]["content"].split())


def _write_table(rows: Sequence[tuple[str, Path, str]], made: Mapping[str, Mapping[str, Made]]) -> None:
    rouge = Rouge()
    values, words = {name: list[list[float]]() for name in made}, 0
    for id, path, reference in rows:
        count = min(TOKENIZER.count_words(found[id][0]) for found in made.values())
        sentences = _sentences(path)
        checker, vocabulary, words = FactChecker(sentences), set(split_words(" ".join(sentences))), words + count
        for name, found in made.items():
            scores = rouge.score(TOKENIZER.first_words(found[id][0], count), reference)
            parts = [sentence for part in found[id][0].split("\n\n") for sentence in SPLITTER.split(part)]
            begun = _begun(parts, count)
            unfounded = sum(len(checker.check(sentence).unfounded) for sentence in begun)
            facts = (len(unsupported_facts(" ".join(begun), vocabulary)), unfounded)
            values[name].append([*(100 * scores[f"rouge{each}"].f1 for each in "12L"), *facts, *found[id][1:]])
    lines = [f"{len(rows)} documents, {words / len(rows):.0f} words on average", ""]
    lines += ["| system | ROUGE-1 / -2 / -L | not in the document | unfounded | processor, s | memory, MB |"]
    lines += ["|---|---|---|---|---|---|"]
    for name, each in values.items():
        means = [sum(column) / len(rows) for column in zip(*each, strict=True)]
        lines += ["| {} | {:.1f} / {:.1f} / {:.1f} | {:.2f} | {:.2f} | {:.1f} | {:.0f} |".format(name, *means)]
    sys.stdout.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
