"""Peers beside our models, the libraries that they need, and the precision in which each is fastest."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import final

import torch

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures.timing import clock
from sumpool.bench.peers.ctranslate2_peer import CTranslate2Peer, PeerProcess, compute_types
from sumpool.bench.peers.transformers_peer import BUILDS, TransformersPeer
from sumpool.bench.workload import NAMES, Conditions, Contender, Documents
from sumpool.core.model.config import ModelConfig
from sumpool.errors import RecipeError
from sumpool.progress import Progress, Report

_REPEATS = 2
_TRIAL, _TRIAL_WRITTEN = 1024, 16
"""Tokens, at most, of the documents that compare precisions, and of what is written about them."""
LIBRARIES = ("transformers", "ctranslate2")
_INSTALL = "pip install 'sumpool[peers]'"


@final
class FastestPeer(Contender):
    """One of several precisions of a system for each workload, chosen when it is first asked for.

    Weights of a precision that no workload has chosen so far are freed after a trial.
    """

    def __init__(
        self, precisions: Mapping[str, Callable[[], Contender]], trial: Documents, beams: int, tokens: int
    ) -> None:
        """Prepare; nothing is built before it is needed.

        Args:
            precisions: For each precision the function that builds the system, at least one.
            trial: Documents that all of them process.
            beams: Beams of a generation.
            tokens: Tokens of a generation in the trial; steps may be slow in a precision in which encoding is fast.
        """
        self._builds, self._trial, self._beams, self._tokens = precisions, trial, beams, tokens
        self._built: dict[str, Contender] = {}
        self._chosen: dict[Workload, str] = {}

    def precision_of(self, workload: Workload) -> str | None:
        """Precision that was the fastest in a workload; None before it has run."""
        return self._chosen.get(workload)

    def encode(self, documents: Documents) -> object:
        """Encode the documents."""
        return self._fastest("encode", lambda peer: peer.encode(self._trial)).encode(documents)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self._fastest("train", lambda peer: peer.train(self._trial)).train(documents)

    def generate(self, documents: Documents, beams: int, tokens: int) -> object:
        """Encode the documents and generate exactly `tokens` tokens for each."""
        fastest = self._fastest("generate", lambda peer: peer.generate(self._trial, self._beams, self._tokens))
        return fastest.generate(documents, beams, tokens)

    def _fastest(self, workload: Workload, work: Callable[[Contender], object]) -> Contender:
        """Return the system in the precision that is fastest in a workload.

        Raises:
            NotImplementedError: If the system does not have the workload.
        """
        if workload not in self._chosen:
            device = self._trial.ids.device
            seconds: dict[str, float] = {}
            for name in self._builds:
                peer = self._peer(name)
                work(peer)  # the first call allocates memory and selects kernels
                seconds[name] = min(clock(partial(work, peer), device) for _ in range(_REPEATS))
            self._chosen[workload] = min(seconds, key=seconds.__getitem__)
            self._built = {name: self._built[name] for name in {*self._chosen.values()}}
        return self._peer(self._chosen[workload])

    def _peer(self, name: str) -> Contender:
        if name not in self._built:
            self._built[name] = self._builds[name]()
        return self._built[name]


def require_peers() -> tuple[str, ...]:
    """Make sure, before anything is measured, that there are peers.

    Returns:
        A sentence for each library whose peers are missing.

    Raises:
        RecipeError: If there are none at all; those of CTranslate2 are made from those of transformers.
    """
    if find_spec("transformers") is None:
        raise RecipeError(f"--peers must have transformers and ctranslate2, transformers is not installed: {_INSTALL}")
    if find_spec("ctranslate2") is None:
        return (f"CTranslate2 is left out, ctranslate2 is not installed: {_INSTALL}",)
    return ()


def library_versions() -> dict[str, str]:
    """Versions of the installed libraries of peers, by name."""
    return {name: version(name) for name in LIBRARIES if find_spec(name)}


def chosen_peers(
    config: ModelConfig, settings: BenchConfig, conditions: Conditions, report: Report
) -> dict[str, Contender]:
    """Build the installed peers that the settings name, or all of them.

    Raises:
        RecipeError: If there are none, or one that is asked for is not among them.
    """
    for sentence in require_peers():
        report(Progress("bench", note=sentence))
    peers = build_peers(config, settings, conditions)
    unknown = [name for name in settings.peers if name not in peers]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in settings.peers or peers}


def build_peers(config: ModelConfig, settings: BenchConfig, conditions: Conditions) -> dict[str, Contender]:
    """Build all peers that are installed, by name, each to run in its fastest precision."""
    target = max(settings.generate, settings.target, config.target_length)
    long = config.model_copy(update={"source_length": max(settings.lengths), "target_length": target})
    trial = Documents.random(settings.batch, min(*settings.lengths, _TRIAL), settings.target, conditions)
    written = min(settings.generate, _TRIAL_WRITTEN)
    peers: dict[str, Contender] = {}
    for name, build in BUILDS.items():
        models: dict[str, Callable[[], Contender]] = {
            precision: partial(TransformersPeer, build, long, replace(conditions, precision=dtype))
            for dtype, precision in NAMES.items()
        }
        peers[name] = FastestPeer(models, trial, settings.beams, written)
    if find_spec("ctranslate2") is not None:
        threads = torch.get_num_threads()
        peers["CTranslate2"] = PeerProcess(
            partial(_ctranslate2, long, conditions, threads, trial, settings.beams, written)
        )
    return peers


def _ctranslate2(
    config: ModelConfig, conditions: Conditions, threads: int, trial: Documents, beams: int, written: int
) -> Contender:
    """CTranslate2 in its process, where torch has one thread: it only creates the weights."""
    torch.set_num_threads(1)
    kinds = compute_types(conditions.device)
    engines = {kind: partial(CTranslate2Peer, config, conditions, kind, threads) for kind in kinds}
    return FastestPeer(engines, trial, beams, written)
