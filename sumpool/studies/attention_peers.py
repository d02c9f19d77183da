"""Self-attention layers of transformers beside ours, of the same sizes, in one process.

Layers have projections of queries, keys, values and outputs, random weights and one document without padding. Where
they differ: BigBird of transformers draws other random blocks, and computes the first and last block densely; its
Reformer shares queries and keys as ours does, and draws its rotations in each call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from sumpool.bench.measures import Steps, Work, interleave
from sumpool.bench.results import Row
from sumpool.bench.workload import Conditions
from sumpool.core.attention._base import AttentionConfig
from sumpool.core.attention.bigbird import BigbirdAttentionConfig
from sumpool.core.attention.longformer import LongformerAttentionConfig
from sumpool.core.attention.lsh import LshAttentionConfig
from sumpool.core.attention.nystrom import NystromAttentionConfig
from sumpool.core.attention.sliding_window import SlidingWindowAttentionConfig
from sumpool.core.tokens import Tokens
from sumpool.errors import RecipeError
from sumpool.progress import Check, Report

_OURS, _THEIRS = "ours", "theirs"
_BLOCK, _LANDMARKS, _WINDOW, _KERNEL = 64, 64, 512, 65
_NO_DROPOUT = {"attention_probs_dropout_prob": 0.0}


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


def measure_peers(
    lengths: Sequence[int], dim: int, heads: int, repeats: int, conditions: Conditions, report: Report, check: Check
) -> list[Row]:
    """Time a forward pass, and one with the backward pass, of both layers in turns.

    Args:
        lengths: Tokens of the document; multiples of 64, at least 1,024, from which BigBird is sparse.
        dim: Features of a vector.
        heads: Attention heads.
        repeats: Counted repetitions of each.
        conditions: Device and seed.
        report: Called with the progress.
        check: Called before every repetition; may raise to stop.

    Raises:
        RecipeError: If transformers is not installed, or a length does not suit its layers.
    """
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
        timings = interleave(_tasks(peer, length, dim, heads, conditions), repeats, conditions.device, check)
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
