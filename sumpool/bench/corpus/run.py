"""`sumpool bench corpus`: a corpus of RFCs, from the start of each system's process to its last summary."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sumpool.bench.config import BenchSettings, CorpusConfig, load_settings
from sumpool.bench.corpus.measure import (
    OURS,
    SHIPPED,
    CorpusPeer,
    corpus_result,
    measure_systems,
    our_commands,
    peer_commands,
    peer_names,
    prepare_peer,
)
from sumpool.bench.corpus.peer_process import PeerJob, choose_documents, spread, write_documents
from sumpool.bench.corpus.process import run_process
from sumpool.bench.measures.machine import EnergyMeter
from sumpool.bench.peers.build import library_versions
from sumpool.bench.results.report import UNFINISHED, BenchReport, make_report
from sumpool.bench.workload import Conditions
from sumpool.inference.loading import find_model
from sumpool.progress import Check, Progress, Report, told_when_stopped
from sumpool.recipe.schema import Recipe
from sumpool.text.load import load_tokenizer
from sumpool.training.hardware import choose_device, choose_encoder_precision, choose_generation_precision


def bench_corpus(run: Path | None, overrides: Sequence[str], peers: bool, report: Report, check: Check) -> BenchReport:
    """Measure documents per second, time to the first summary, memory and energy of whole processes.

    Args:
        run: The run folder; None takes the newest run, or the shipped model if there is none.
        overrides: Settings of the benchmark, like `bench.documents=8`.
        peers: Whether models of transformers and CTranslate2 in the sizes of the run's model take part.
        report: Called with progress.
        check: Called while processes run; when it raises, nothing is kept.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong.
        Interrupted: If a signal has come.
    """
    with told_when_stopped(UNFINISHED):
        return _bench(run, overrides, peers, report, check)


def _bench(run: Path | None, overrides: Sequence[str], peers: bool, report: Report, check: Check) -> BenchReport:
    # 1. Check settings and model, and choose the documents.
    config = load_settings("bench corpus", BenchSettings[CorpusConfig], overrides, {"bench": {}}).bench
    names = peer_names(config.peers) if peers else ()
    folder, recipe = find_model(run)
    rows = choose_documents(config.documents)
    conditions = Conditions(
        load_tokenizer(folder).vocab_size, choose_device(recipe.summarize.device), torch.float32, recipe.seed
    )
    meter = EnergyMeter()
    execute = partial(run_process, meter=meter, check=check)
    with TemporaryDirectory() as name:
        work = Path(name)
        documents = write_documents(work / "documents.jsonl", rows)
        trial = write_documents(work / "trial.jsonl", spread(rows, min(config.trial, len(rows))))
        # 2. Write the weights of the peers, and choose precision and batch of each.
        job = _trial_job(work, trial, folder, recipe, conditions, config)
        prepared: list[CorpusPeer] = []
        for peer in names:
            report(Progress("bench", len(prepared), len(names), note=f"{peer}: choosing precision and batch"))
            limit = config.memory * 2**30
            prepared.append(prepare_peer(peer, recipe.model, conditions, job, limit, execute))
        prepared = [
            replace(peer, job=replace(peer.job, documents=str(documents))) if peer.job else peer for peer in prepared
        ]
        # 3. Run all systems in turns.
        commands = our_commands(documents, folder, config) | peer_commands(prepared, work)
        runs = measure_systems(commands, config, execute, report)
    # 4. Lay out.
    precision = _precision(recipe, conditions)
    ours = {"precision": precision, "batch": f"{recipe.summarize.batch_tokens:,} tokens"}
    labels: dict[str, dict[str, object]] = {OURS: {**ours}, SHIPPED: {**ours}}
    labels |= {peer.name: {"precision": peer.precision, "batch": peer.job.batches[0]} for peer in prepared if peer.job}
    words = [len(row.document.split()) for row in rows]
    facts = config.model_dump(include={"documents", "beams", "generate"})
    facts |= {"shortest": min(words), "longest": max(words), "source_length": recipe.model.source_length}
    left_out = {peer.name: peer.problem for peer in prepared if not peer.job}
    result = corpus_result(runs, labels, left_out, facts, meter)
    kept = {"bench": config.model_dump(), "model": recipe.model.model_dump(), "documents": [row.id for row in rows]}
    composed = make_report(recipe.name, "corpus", conditions, kept, result)
    versions = composed.versions | (library_versions() if peers else {})
    return replace(composed, precision=f"{precision}{', the fastest of each peer' * peers}", versions=versions)


def _trial_job(
    work: Path, trial: Path, folder: Path, recipe: Recipe, conditions: Conditions, config: CorpusConfig
) -> PeerJob:
    """Work of a trial; `model` is the folder in which the peers' weights will be."""
    return PeerJob(
        library="",
        model=str(work),
        precision="",
        device=conditions.device.type,
        threads=torch.get_num_threads(),
        tokenizer=str(folder.resolve()),
        documents=str(trial),
        source_length=recipe.model.source_length,
        beams=config.beams,
        generate=config.generate,
        batches=tuple(sorted(set(config.batches))),
        is_trial=True,
    )


def _precision(recipe: Recipe, conditions: Conditions) -> str:
    """Precisions that `sumpool summarize` takes on this machine."""
    setting = recipe.summarize.precision
    decoder = choose_generation_precision(setting, conditions.device)
    encoder = choose_encoder_precision(setting, decoder, conditions.device)
    return decoder if encoder == decoder else f"{encoder} encoder, {decoder} decoder"
