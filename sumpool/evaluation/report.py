"""Report of an evaluation: mean scores by slice and system, with intervals and tests."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sumpool.evaluation.paired_comparison import Difference
from sumpool.evaluation.statistics import Estimate, PairedTest
from sumpool.evaluation.well_formed import Form


@dataclass(frozen=True)
class ReportRow:
    """Mean scores of a system on a slice of the documents.

    Attributes:
        slice: "all", "low-leak" (references that are not copied from the document), or lengths of the document.
        system: Name of the system.
        documents: Number of documents of the slice.
        rouge: Mean F1 from 0 to 1 with its 95 % interval, by name ("rouge1", "rouge2", "rougeL", "rougeLsum").
        words: Mean length, in words.
        repetition: Mean fraction of repeated trigrams.
        coverage: Mean fraction of words in fragments shared with the document; None without documents.
        density: Mean length of such a fragment, in words; None without documents.
        novel_bigrams: Mean fraction of bigrams that do not occur in the document; None without documents.
        unsupported: Fraction of all numbers and names that do not occur in the document; None without documents or
            without any numbers and names.
        against_lead: Comparison with LEAD, by name; empty for LEAD itself and without documents.
        bertscore: Mean F1 of BERTScore with its interval; None unless it was asked for.
        form: Counts of sentences and of their faults; None in results of versions that did not count them.
    """

    slice: str
    system: str
    documents: int
    rouge: Mapping[str, Estimate]
    words: float
    repetition: float
    coverage: float | None
    density: float | None
    novel_bigrams: float | None
    unsupported: float | None
    against_lead: Mapping[str, PairedTest]
    bertscore: Estimate | None = None
    form: Form | None = None


@dataclass(frozen=True)
class EvaluationReport:
    """Results of an evaluation.

    Attributes:
        rows: One row per slice and system, the evaluated system first.
        signature: All settings that the scores depend on, in one line.
        documents: Number of scored documents.
        notes: Caveats: truncated documents, empty summaries, missing documents.
        length_rows: The same for the slices by length of the document.
        baselines: The evaluated system compared with each baseline, by slice.
        differences: Comparison of the evaluated system and other systems pair by pair, by slice, if any were given.
    """

    rows: tuple[ReportRow, ...]
    signature: str
    documents: int
    notes: tuple[str, ...]
    length_rows: tuple[ReportRow, ...] = ()
    baselines: tuple[Difference, ...] = ()
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> str:
        """Serialize the report as JSON, unrounded."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"
