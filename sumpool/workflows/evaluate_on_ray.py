"""`sumpool evaluate --ray`: the documents of a run's data are summarised on a cluster and scored here."""

from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from sumpool.corpora.cluster import LOG, Cluster, require_ray
from sumpool.corpora.split import SplitJob, divide_split, summarize_split
from sumpool.data.sources._base import Split
from sumpool.evaluation.report import EvaluationReport
from sumpool.evaluation.scorer import Candidate
from sumpool.evaluation.scores import SUMMARIES, incomplete_folder
from sumpool.evaluation.task import Results, evaluate_task
from sumpool.inference.loading import find_model
from sumpool.progress import Check, Report, no_op
from sumpool.tasks.summarization.evaluate import RunDocuments, candidate_of


class RayEvaluation(NamedTuple):
    """Evaluation of a run on a Ray cluster.

    Attributes:
        run: The run folder; None takes the newest one.
        split: Part of the data.
        overrides: Settings to change, each like `summarize.beams=1`.
        limit: Documents to take, evenly spread over the split; None takes all.
        address: "local", or the address of a cluster.
        workers: Processes that summarise; None takes one per GPU, or per core if there are no GPUs.
    """

    run: Path | None = None
    split: Split = "test"
    overrides: Sequence[str] = ()
    limit: int | None = None
    address: str = "local"
    workers: int | None = None


def evaluate_on_ray(
    evaluation: RayEvaluation, *, results: Results, report: Report = no_op, check: Check = no_op
) -> EvaluationReport:
    """Summarise a split of a run's data on a Ray cluster, and score the summaries as `evaluate_run` does.

    The results are those of `evaluate_run`, and each of the two continues with what the other left unfinished.

    Args:
        evaluation: Model, documents and cluster.
        results: Destination of the results, under the same path on all machines.
        report: Called with progress.
        check: Called between documents and while waiting for summaries; when it raises, what is done is kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting or the limit is wrong, or Ray is not installed.
        DataError: If the prepared data is missing, the results to resume are of another evaluation, or parts had to be
            given up.
        ResourceError: If the disk is full or fails, or the cluster cannot be reached.
    """
    require_ray()
    # 1. Find the model, which the workers load, and open the documents of its data.
    run, recipe = find_model(evaluation.run, evaluation.overrides)
    documents = RunDocuments.open(run, recipe, evaluation.split, evaluation.limit, check)
    texts, indices = documents.texts, documents.indices
    folder = incomplete_folder(results.folder or documents.results) / SUMMARIES
    job = SplitJob(run.resolve(), evaluation.overrides, documents.prepared.resolve(), evaluation.split, folder)
    cluster = Cluster(evaluation.address, evaluation.workers, folder / LOG)

    # 2. Summarise them in parts, but for parts that are scored; the order stays that of the split.
    def candidates(done: Set[str]) -> Iterator[Candidate]:
        parts = divide_split(indices)
        if done:
            parts = [part for part in parts if any(texts[index].id not in done for index in part.indices)]
        summaries = summarize_split(parts, job, cluster, report=report, check=check)
        taken = (index for part in parts for index in part.indices)
        for index, summary in zip(taken, summaries, strict=True):
            if summary.id not in done:
                yield candidate_of(texts[index], summary)

    # 3. Score each document, then make the table.
    return evaluate_task(documents.task(candidates), recipe.evaluate, results, report, check)
