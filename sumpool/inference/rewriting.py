"""Extractive summaries in other words, by a language model of the user's own behind the chat API of OpenAI.

Each selected sentence goes to the server with its neighbours, and comes back as a sentence that can be read alone. It
stays if the sentence and its neighbours have all of its numbers and names, and the same negations (`FactChecker`);
otherwise the sentence of the document stands in its place, in quotation marks. Other errors, such as an exchange of two
names, are not found; negations are those of English.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any, Final, final
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urldefrag, urlsplit

import numpy as np

from sumpool.documents.addresses import is_loopback
from sumpool.documents.source_sentences import SourceSentence
from sumpool.errors import RecipeError, ResourceError
from sumpool.inference.evidence import top_sources
from sumpool.inference.fact_check import FactChecker, is_negative, word_forms
from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary, SummarySentence
from sumpool.io.bounded import parse_json
from sumpool.text.fragments import repetition
from sumpool.text.language import separator
from sumpool.text.prose import PROSE_KINDS, ends_sentence
from sumpool.text.sentences import SentenceSplitter

MODE: Final = "rewritten"
_NEIGHBOURS: Final = 2  # sentences of prose on each side
_MAX_NEIGHBOUR: Final = 400  # characters
_TOKENS: Final = 200
_MAX_LENGTH: Final = 400  # characters of a rewriting, as small models find no end
_MAX_ADDED: Final = 100  # characters that it may be longer than its sentence
_MAX_REPETITION: Final = 0.2  # fraction of trigrams, as of a small model that does not end
_SECONDS: Final = 600.0
_MAX_BYTES: Final = 2**20
_PROMPT: Final = (
    "Rewrite the sentence as one short, plain sentence that can be understood alone: say who or what is meant, by the "
    "text around it. Keep all numbers, names, dates and negations. Add nothing."
)


@final
@dataclass(frozen=True)
class Rewriter:
    """Client of a server with a language model.

    Attributes:
        address: Base of its API, such as http://127.0.0.1:8080/v1.
        model: Name of the model.
    """

    address: str
    model: str

    @classmethod
    def open(cls, address: str, *, remote: bool = False) -> "Rewriter":
        """Connect to a server.

        Args:
            address: Base of its API, with `#NAME` for a model that is not its first one.
            remote: Whether the server may be another machine, to which sentences of the documents are sent.

        Raises:
            RecipeError: If the address is none, or another machine although `remote` does not allow one.
            ResourceError: If the server does not answer.
        """
        base, model = urldefrag(address)
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RecipeError(f"--rewrite must be an address such as http://127.0.0.1:8080/v1, got {address}")
        if not remote and not is_loopback(parts.hostname):
            raise RecipeError(
                f"--rewrite must be an address of this machine, got {parts.hostname}; with --rewrite-remote, sentences "
                "of the documents are sent there"
            )
        models = cls(base.rstrip("/"), "")._call("models")
        try:
            return cls(base.rstrip("/"), model or str(models["data"][0]["id"]))
        except (KeyError, IndexError, TypeError) as error:
            raise ResourceError(f"{base} must have a model, got none; load one, or name it as {base}#NAME") from error

    def rewrite(self, summary: Summary) -> Summary:
        """Return an extractive summary in other words; written ones and headings stay as they are."""
        if not summary.indices:
            return summary
        words = (word for sentence in summary.source for word in sentence.text.split() if word.islower())
        ordinary = word_forms(" ".join(words))
        source = summary.source
        texts = {sentence.index: sentence.text for sentence in summary.sentences if sentence.index is not None}
        chosen = [index for index in texts if source[index].kind in PROSE_KINDS]
        passages: dict[int, list[int]] = {}
        faults, splitter = list[str](), SentenceSplitter(summary.language)
        for index in chosen:
            # 1. Ask for the sentence with its neighbours, in the order of the document.
            sentence = source[index].text
            near = range(max(0, index - _NEIGHBOURS), min(len(source), index + _NEIGHBOURS + 1))
            passages[index] = [
                other
                for other in near
                if other == index or (source[other].kind in PROSE_KINDS and len(source[other].text) <= _MAX_NEIGHBOUR)
            ]
            passage = [source[other].text for other in passages[index]]
            # 2. Take the sentence that has most of its words, as small models write the next ones too, if it may stand.
            parts = [" ".join(part.split()) for part in splitter.split(self._ask(sentence, passage))]
            text = max(parts, key=lambda part: len(word_forms(part) & word_forms(sentence)), default="")
            if fault := _faults(text, sentence, passage, ordinary):
                faults.append(fault)
                text = f"\N{LEFT DOUBLE QUOTATION MARK}{texts[index]}\N{RIGHT DOUBLE QUOTATION MARK}"
            texts[index] = text
        evidence = summary.evidence and tuple(
            SentenceEvidence(text, (), _sources(text, passages.get(index, [index]), source))
            for index, text in texts.items()
        )
        note = f"{len(faults):,} of {len(chosen):,} sentences stand as in the document: {'; '.join(faults)}"
        return replace(
            summary,
            text=separator(summary.language).join(texts.values()),
            mode=MODE,
            cause="",
            sentences=tuple(map(SummarySentence, texts.values())),
            evidence=evidence,
            notes=(*summary.notes, *([note] if faults else ())),
        )

    def _ask(self, sentence: str, passage: Sequence[str]) -> str:
        """Return the rewriting of a sentence; empty if the answer has none."""
        messages = [
            {"role": "system", "content": _PROMPT},
            {"role": "user", "content": f"Text: {' '.join(passage)}\n\nSentence: {sentence}"},
        ]
        length = min(_MAX_LENGTH, len(sentence) + _MAX_ADDED)
        schema = {
            "type": "object",
            "properties": {"sentence": {"type": "string", "minLength": 20, "maxLength": length}},
            "required": ["sentence"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "sentence", "schema": schema}}
        settings = {"temperature": 0, "seed": 0, "max_tokens": _TOKENS, "response_format": form}
        response = self._call("chat/completions", {"model": self.model, "messages": messages, **settings})
        try:
            rewriting = parse_json(response["choices"][0]["message"]["content"])
            return " ".join(str(rewriting["sentence"]).split())
        except (KeyError, IndexError, TypeError, ValueError):
            return ""

    def _call(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        # No proxy and no redirection, so that nothing of a document leaves the machine.
        opener = request.build_opener(request.ProxyHandler({}), _NoRedirect)
        data = None if body is None else json.dumps(body).encode()
        http_request = request.Request(f"{self.address}/{path}", data, {"Content-Type": "application/json"})  # noqa: S310
        try:
            with opener.open(http_request, timeout=_SECONDS) as response:
                tree = parse_json(response.read(_MAX_BYTES))
        except HTTPError as error:
            with error:
                reason = f"{error} {error.read(_MAX_BYTES)[:200].decode(errors='replace')}".strip()
            raise ResourceError(f"{self.address} must answer as OpenAI's API, got: {reason}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise ResourceError(f"{self.address} must answer as OpenAI's API, got: {error}; is it running?") from error
        return tree if isinstance(tree, dict) else {}


class _NoRedirect(request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - as urllib passes them
        return None


def _faults(text: str, sentence: str, passage: Sequence[str], ordinary: set[str]) -> str:
    """Return what a rewriting has that its passage lacks, or lacks itself; empty if it may stand."""
    if not ends_sentence(text) or repetition(text) > _MAX_REPETITION:
        return "no sentence"
    forms = word_forms(text)
    if not forms <= word_forms(sentence) and any(forms <= word_forms(other) for other in passage):
        return "another sentence"
    checked = FactChecker([" ".join(passage)]).check(text)
    first = text.split()[0]  # a name, if the document never writes it in lower case
    unknown = [] if word_forms(first) <= ordinary | word_forms(" ".join(passage)) else [first]
    negation = ["negation"] if is_negative(sentence) != is_negative(text) else []
    return ", ".join(dict.fromkeys([*unknown, *checked.unfounded, *negation])) or (
        "" if checked.sources else "other words"
    )


def _sources(text: str, passage: Sequence[int], source: Sequence[SourceSentence]) -> tuple[EvidenceSource, ...]:
    """Return the sentences of a passage by the words of a text that each adds."""
    left, weights = word_forms(text), np.zeros(len(source))
    forms = {index: word_forms(source[index].text) for index in passage}
    for _ in passage:
        best = max(passage, key=lambda index: len(left & forms[index]))
        weights[best] += len(left & forms[best])
        left -= forms[best]
    return top_sources(source, weights / max(1.0, weights.sum()))
