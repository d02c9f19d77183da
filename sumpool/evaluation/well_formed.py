"""Form of summaries: counts of the faults of their sentences, see `sumpool.text.form`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sumpool.text.form import FAULTS, Fault, text_faults
from sumpool.text.language import ENGLISH, UNDETECTED, detect_language


@dataclass(frozen=True)
class Form:
    """Form of one or more summaries.

    Attributes:
        sentences: Number of sentences.
        flawed: Number of summaries with a fault.
        faults: Number of sentences with each fault, by the names of `FAULTS`; a sentence may have several.
    """

    sentences: int
    flawed: int
    faults: Mapping[Fault, int]


def measure_form(sentences: Sequence[str], document: str | None) -> Form:
    """Count the faults of a summary.

    Args:
        sentences: Sentences of the summary.
        document: Text of the document, which tells whether a sentence stands behind the one that it refers to; None if
            unknown.
    """
    text = " ".join((document or "").split())
    lines = [line for sentence in sentences if (line := " ".join(sentence.split()))]
    language = detect_language(text or " ".join(lines))
    faults = text_faults(lines, text, ENGLISH if language == UNDETECTED else language)
    counts = Counter(name for names in faults for name in names)
    return Form(len(lines), int(any(faults)), {name: counts[name] for name in FAULTS})
