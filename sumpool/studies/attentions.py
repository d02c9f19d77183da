"""Time and memory of every self-attention by document length, beside counted operations.

A measurement is a forward and a backward pass of one layer of one document without padding. Costs are fitted as
constant * length ** exponent; the constant is given as the fitted cost of the first length.

With `study.peers` layers of transformers stand beside ours, of the same sizes, in one process: projections of queries,
keys, values and outputs, random weights, one document without padding. Where they differ: BigBird of transformers draws
other random blocks, and computes the first and last block densely; its Reformer shares queries and keys as ours does,
and draws its rotations in each call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sumpool.bench.measures import Steps, Work, clock, count, growth_exponent, interleave
from sumpool.bench.results import Result, Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import Attention, AttentionConfig
from sumpool.core.attention.bigbird import BigbirdAttentionConfig
from sumpool.core.attention.longformer import LongformerAttentionConfig
from sumpool.core.attention.lsh import LshAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.tokens import Tokens
from sumpool.errors import RecipeError
from sumpool.progress import Check, Report, no_op
from sumpool.settings import config_class, kinds
from sumpool.studies.config import AttentionsConfig
from sumpool.studies.study import make_table
from sumpool.training.hardware import available, try_peak

_PACKAGE = "sumpool.core.attention"
_GROWTH = 4.5
"""Cost of twice the length, at most about."""
_SHARE = 0.4
"""Share of the free memory that a measurement may take."""
_COSTS = ("seconds", "memory", "operations")
SWEEP = {f"neighborhood, r = {radius}": {"kind": "neighborhood", "radius": radius} for radius in (25, 50, 100, 200)} | {
    f"convolutional, kernel {kernel}, stride {stride}": {"kind": "convolutional", "kernel": kernel, "stride": stride}
    for kernel, stride in ((3, 1), (3, 2), (3, 3), (5, 3), (5, 5), (9, 9))
}
SWEEP["both, 3 / 3, r = 33 phrases"] = {"kind": "convolutional", "radius": 33}
"""Rows of `study.sweep`: what paper 5 wants to vary and combine, beside its r = 100 and 3 / 3."""

_OURS, _THEIRS = "ours", "theirs"
_BLOCK, _LANDMARKS, _WINDOW, _KERNEL = 64, 64, 512, 65
_NO_DROPOUT = {"attention_probs_dropout_prob": 0.0}


def measure_attention_costs(
    settings: AttentionsConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure every attention, from the shortest document to the longest that time and memory allow."""
    if settings.peers:
        rows = measure_peers(settings, conditions, report, check)
        return Result({"attention_peers": rows}, [make_table("attention_peers", rows, settings.model_dump())])
    names = [*SWEEP] if settings.sweep else kinds(_PACKAGE)
    steps = Steps(len(names), report, check)
    rows, fits = [], []
    for name in names:
        steps()
        measured = list(_measure_kind(name, settings, conditions, check))
        rows += measured
        fits.append(fit_row(name, measured))
    steps.finish()
    facts = settings.model_dump() | {"first": min(settings.lengths)}
    tables = [make_table("attention_costs", fits, facts), make_table("attention_lengths", rows, facts)]
    return Result({"attention_costs": fits, "attention_lengths": rows}, tables)


def attention_config(name: str, length: int, heads: int) -> AttentionConfig:
    """Return the settings of a row, an attention with its defaults or one of `SWEEP`.

    It has room for the document and no more local heads than heads.
    """
    settings = SWEEP.get(name, {"kind": name})
    config = config_class(_PACKAGE, str(settings["kind"]))
    sizes = {"length": length, "local_heads": min(2, heads - 1)}
    attention = config.model_validate(settings | {n: s for n, s in sizes.items() if n in config.model_fields})
    assert isinstance(attention, AttentionConfig)
    return attention


def fit_row(name: str, measured: Sequence[Row]) -> Row:
    """Fit exponents, and costs of the first length, to the rows of an attention."""
    lengths = [row["length"] for row in measured]
    values: dict[str, Any] = {"name": name, "longest": max(lengths, default=None)}
    for cost in _COSTS:
        costs = [row[cost] for row in measured]
        if not costs or None in costs:
            continue
        values[f"{cost}_exponent"] = exponent = growth_exponent(lengths, costs)
        if exponent is not None:
            offsets = np.log(costs) - exponent * np.log(np.array(lengths) / lengths[0])
            values[f"{cost}_constant"] = float(np.exp(offsets.mean()))
    return Row(values)


def _measure_kind(name: str, settings: AttentionsConfig, conditions: Conditions, check: Check) -> Iterator[Row]:
    """Measure one attention until a longer document would take too long or too much memory."""
    for length in sorted(settings.lengths):
        row = _measure_length(name, length, settings, conditions, check)
        if row.note:
            return
        yield row
        memory = (row["memory"] or 0) * _GROWTH
        if row["seconds"] * _GROWTH > settings.seconds or memory > _SHARE * available(conditions.device):
            return


def _measure_length(name: str, length: int, settings: AttentionsConfig, conditions: Conditions, check: Check) -> Row:
    """Measure a forward and a backward pass, the fastest of the repetitions, after one for the memory."""
    torch.manual_seed(conditions.seed)
    config = attention_config(name, length, settings.heads)
    attention: Attention = config.build(settings.dim, settings.heads).to(conditions.device)
    states = torch.randn(1, length, settings.dim, device=conditions.device, requires_grad=True)
    tokens = Tokens.of_states(states)

    def forward() -> Tensor:
        with conditions.autocast():
            output: Tensor = attention(tokens)
        return output

    def work() -> None:
        forward().float().sum().backward()
        attention.zero_grad()
        states.grad = None

    attention.eval()  # the update of centroids is no part of a forward pass
    with torch.no_grad():
        operations = count(forward)
    attention.train()
    work()  # what libraries keep from their first call is no cost of the length
    memory, note = try_peak(work, conditions.device)
    if note:
        return Row({"name": name, "length": length}, note=note)
    seconds = []
    for _ in range(settings.repeats):
        check()
        seconds.append(clock(work, conditions.device))
    values = {"name": name, "length": length, "operations": operations}
    return Row({**values, "seconds": min(seconds), "memory": memory or None})


@dataclass(frozen=True)
class Peer:
    """A layer of transformers and the settings of ours.

    Attributes:
        name: Its class and, where one has several rows, a setting.
        ours: Settings of our attention.
        theirs: The layer without its output projection.
        mix: Runs it on states (1, length, dim).
    """

    name: str
    ours: AttentionConfig
    theirs: nn.Module
    mix: Callable[[Tensor], Tensor]


def measure_peers(settings: AttentionsConfig, conditions: Conditions, report: Report, check: Check) -> list[Row]:
    """Time a forward pass, and one with the backward pass, of both layers in turns.

    Raises:
        RecipeError: If transformers is not installed, or a length does not suit its layers, of which BigBird's are
            sparse from 1,024 tokens on.
    """
    lengths, dim, heads = settings.lengths, settings.dim, settings.heads
    if find_spec("transformers") is None:
        raise RecipeError("study.peers must have transformers, which is not installed: pip install transformers")
    wrong = [length for length in lengths if length < 16 * _BLOCK or length % _BLOCK]
    if wrong:
        raise RecipeError(f"study.lengths must be multiples of {_BLOCK} from {16 * _BLOCK} with peers, got {wrong[0]}")
    rows: list[Row] = []
    pairs = [(length, peer) for length in lengths for peer in _peers(length, dim, heads)]
    steps = Steps(len(pairs), report, check)
    for length, peer in pairs:
        steps()
        torch.manual_seed(conditions.seed)
        timings = interleave(_tasks(peer, length, dim, heads, conditions), settings.repeats, conditions.device, check)
        values: dict[str, Any] = {"name": peer.ours.kind, "peer": peer.name, "length": length}
        for work in ("forward", "both"):
            ours, theirs = (timings[system, work].median for system in (_OURS, _THEIRS))
            values |= {f"{work}_ours": ours, f"{work}_theirs": theirs, f"{work}_ratio": ours / theirs}
        rows.append(Row(values))
    steps.finish()
    return rows


def _tasks(peer: Peer, length: int, dim: int, heads: int, conditions: Conditions) -> dict[tuple[str, str], Work]:
    """Forward pass of both layers, and forward and backward pass; in float32, which all of them support."""
    device = conditions.device
    states = torch.randn(1, length, dim, device=device, requires_grad=True)
    tokens = Tokens.of_states(states)
    attention, project = peer.ours.build(dim, heads).to(device), nn.Linear(dim, dim).to(device)
    peer.theirs.to(device)
    layers: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        _OURS: (attention, lambda: attention(tokens)),
        _THEIRS: (nn.ModuleList([peer.theirs, project]), lambda: project(peer.mix(states))),
    }

    def both(module: nn.Module, run: Callable[[], Tensor]) -> None:
        run().sum().backward()
        module.zero_grad()

    tasks: dict[tuple[str, str], Work] = {}
    for system, (module, run) in layers.items():
        tasks[system, "forward"] = torch.no_grad()(run)
        tasks[system, "both"] = partial(both, module, run)
    return tasks


def _peers(length: int, dim: int, heads: int) -> Iterator[Peer]:
    """Layers of transformers for documents of a length."""
    sizes = {"hidden_size": dim, "num_attention_heads": heads}
    yield _nystromformer(sizes, length)
    yield _bigbird(sizes, length)
    yield _longformer(sizes, length, first=False)
    yield _longformer(sizes, length, first=True)
    for hashes in (1, 4):
        yield _reformer(sizes, length, hashes)


def _nystromformer(sizes: dict[str, int], length: int) -> Peer:
    from transformers import NystromformerConfig
    from transformers.models.nystromformer.modeling_nystromformer import NystromformerSelfAttention

    options = {"num_landmarks": _LANDMARKS, "segment_means_seq_len": length, "conv_kernel_size": _KERNEL}
    config = NystromformerConfig(**sizes, **options, **_NO_DROPOUT, inv_coeff_init_option=False)
    layer: Any = NystromformerSelfAttention(config)
    ours = NystromAttentionConfig(landmarks=_LANDMARKS, kernel=_KERNEL)
    return Peer("Nystromformer", ours, layer, lambda states: layer(states)[0])


def _bigbird(sizes: dict[str, int], length: int) -> Peer:
    from transformers import BigBirdConfig, BigBirdModel
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

    config = BigBirdConfig(**sizes, **_NO_DROPOUT, block_size=_BLOCK, max_position_embeddings=length)
    layer: Any = BigBirdBlockSparseAttention(config, seed=0)
    create_masks: Any = BigBirdModel.create_masks_for_block_sparse_attn
    blocked, band, source, target = create_masks(torch.ones(1, length), _BLOCK)

    def mix(states: Tensor) -> Tensor:
        masks = (part.to(states.device) for part in (band, source, target, blocked, blocked))
        mixed: Tensor = layer(states, *masks)[0]
        return mixed

    ours = BigbirdAttentionConfig(block=_BLOCK, random_blocks=config.num_random_blocks)
    return Peer("BigBird", ours, layer, mix)


def _longformer(sizes: dict[str, int], length: int, *, first: bool) -> Peer:
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    layer: Any = LongformerSelfAttention(LongformerConfig(**sizes, **_NO_DROPOUT, attention_window=[_WINDOW]), 0)
    is_global = torch.zeros(1, length, dtype=torch.bool)
    is_global[:, 0] = first

    def mix(states: Tensor) -> Tensor:
        chosen = is_global.to(states.device)
        mask = torch.zeros(chosen.shape, device=states.device).masked_fill(chosen, 10_000.0)
        mixed: Tensor = layer(states, mask, mask < 0, chosen, is_global_attn=first)[0]
        return mixed

    if first:
        ours: AttentionConfig = LongformerAttentionConfig(window=_WINDOW, global_tokens=1, separate=True)
        return Peer("Longformer, first token global", ours, layer, mix)
    return Peer("Longformer", SlidingWindowAttentionConfig(window=_WINDOW), layer, mix)


def _reformer(sizes: dict[str, int], length: int, hashes: int) -> Peer:
    from transformers import ReformerConfig
    from transformers.models.reformer.modeling_reformer import LSHSelfAttention

    config = ReformerConfig(
        **sizes,
        attention_head_size=sizes["hidden_size"] // sizes["num_attention_heads"],
        lsh_attn_chunk_length=_BLOCK,
        lsh_attention_probs_dropout_prob=0.0,
        num_buckets=2 * length // _BLOCK,
        num_hashes=hashes,
    )
    layer: Any = LSHSelfAttention(config)
    ours = LshAttentionConfig(bucket=_BLOCK, hashes=hashes, local_heads=0)
    return Peer(f"Reformer, hashes: {hashes}", ours, layer, lambda states: layer(states).hidden_states)
