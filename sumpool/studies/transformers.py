"""An imported BART beside the original: `generate` of transformers against our encoder and search, in one process.

Both have the same weights, encode the same documents and search with the same settings, those of BART for news
summaries. Weights and documents are random, since they change no cost; summaries have a fixed number of tokens.
Generation is all that comes after the encoder: keys and values of the documents, then the search.
"""

from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from sumpool.bench.measures import Steps, Work, interleave
from sumpool.bench.results import Result, Row, where
from sumpool.bench.workload import Conditions, Documents
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import DecodingConfig, Hypothesis, Lengths
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules
from sumpool.core.model.summarizer import Memory, SummarizationModel
from sumpool.errors import RecipeError
from sumpool.pretrained.config import ImportOptions, read_config, to_decoding_config, to_model_config
from sumpool.pretrained.weights import load_pretrained
from sumpool.progress import Check, Report, no_op
from sumpool.special_tokens import SpecialTokens
from sumpool.studies.config import TransformersConfig
from sumpool.studies.study import make_table

THEIRS, OURS = "transformers", "sumpool"
BOS, PAD, EOS, UNK = 0, 1, 2, 3
"""Special tokens of BART."""


@dataclass(frozen=True)
class Pair:
    """A model of transformers and the same one imported, with the same weights.

    `writing` are the generation settings of the original as ours, `eos` the id of EOS.
    """

    theirs: Any
    ours: SummarizationModel
    eos: int
    writing: DecodingConfig
    version: str


def measure_transformers(
    pair: Pair, settings: TransformersConfig, conditions: Conditions, report: Report = no_op, check: Check = no_op
) -> Result:
    """Measure both in turns, encoding and generation apart, and compare their summaries without BOS and EOS."""
    steps = Steps(4 * (settings.repeats + 1), report, check)
    device, writing = conditions.device, pair.writing
    theirs, ours = pair.theirs.to(device), pair.ours.to(device).eval()
    documents = Documents.random(settings.batch, settings.length, 1, conditions)
    mask = torch.ones_like(documents.ids)
    assert isinstance(writing.min_length, int)
    assert isinstance(writing.max_length, int)
    lengths = [Lengths(writing.min_length, writing.max_length)] * settings.batch
    rules = Rules(writing.begin_with, [NoRepeatTokens(writing.no_repeat_tokens)], ours.special_tokens)

    def their_encode() -> Any:  # noqa: ANN401 - a type of transformers
        return theirs.get_encoder()(documents.ids, attention_mask=mask)

    def our_encode() -> Memory:
        return ours.encode(documents.ids, documents.mask, documents.sentences)

    def their_generate() -> list[list[int]]:
        memory = replace(their_memory)  # `generate` repeats it for every beam in place
        summaries = theirs.generate(encoder_outputs=memory, attention_mask=mask).tolist()
        return [list(takewhile(lambda token: token != pair.eos, row[1:])) for row in summaries]

    def our_generate() -> list[list[int]]:
        state = ours.start(our_memory, writing.beams)
        hypotheses: list[list[Hypothesis]] = search(ours.step, state, lengths, writing.ranking(), rules, device=device)
        return [list(best.tokens) for best, *_ in hypotheses]

    with torch.inference_mode(), conditions.autocast():
        their_memory, our_memory = their_encode(), our_encode()
        tasks: dict[tuple[str, str], Work] = {
            (THEIRS, "encode"): their_encode,
            (OURS, "encode"): our_encode,
            (THEIRS, "generate"): their_generate,
            (OURS, "generate"): our_generate,
        }
        timings = interleave(tasks, settings.repeats, device, steps)
        same = sum(one == other for one, other in zip(their_generate(), our_generate(), strict=True))
    steps.finish()
    rows = [Row({"system": system, "work": work}, timing) for (system, work), timing in timings.items()]
    return transformers_result(rows, same, settings, pair.version)


def transformers_result(rows: list[Row], same: int, settings: TransformersConfig, version: str) -> Result:
    """Table of documents per second and of where the seconds go."""
    lines: list[Row] = []
    for system in (THEIRS, OURS):
        values: dict[str, Any] = {"system": system}
        for row in where(rows, {"system": system}):
            values |= {row["work"]: row["median"], f"{row['work']}_spread": row["spread"]}
        seconds = values["encode"] + values["generate"]
        base = lines[0]["seconds"] if lines else seconds
        step = values["generate"] / (settings.generate + 2)  # the forced first token, the summary and its EOS
        speeds = {"step": step, "documents_per_second": settings.batch / seconds, "speedup": base / seconds}
        lines.append(Row({**values, "seconds": seconds, **speeds}))
    table = make_table("transformers", lines, settings.model_dump() | {"same": same, "version": version})
    return Result({"systems": rows}, [table], {"same": same, "batch": settings.batch})


def random_pair(settings: TransformersConfig, seed: int) -> Pair:
    """Build a BART of transformers with random weights, and the same model of sumpool.

    Args:
        settings: Sizes of the model, and its generation settings.
        seed: Seed of its weights.

    Raises:
        RecipeError: If transformers is not installed.
    """
    if find_spec("transformers") is None:
        raise RecipeError("study transformers must have transformers, which is not installed: pip install transformers")
    from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    halves = {"layers": settings.layers, "attention_heads": settings.heads, "ffn_dim": settings.feed_forward}
    torch.manual_seed(seed)
    theirs = BartForConditionalGeneration(
        BartConfig(
            vocab_size=settings.vocabulary,
            d_model=settings.dim,
            max_position_embeddings=max(settings.length, settings.generate + 3),
            **{f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in halves.items()},
        )
    ).eval()
    theirs.final_logits_bias[:, [PAD, UNK]] = -torch.inf  # sumpool never generates them
    theirs.generation_config = GenerationConfig(
        num_beams=settings.beams,
        length_penalty=2.0,
        early_stopping=True,
        no_repeat_ngram_size=3,
        min_length=settings.generate + 2,  # begin, first piece and summary
        max_length=settings.generate + 3,
        forced_bos_token_id=BOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=EOS,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    special_tokens = SpecialTokens(PAD, EOS, decoder_start=EOS, suppressed=(PAD, UNK))
    with TemporaryDirectory() as name:
        theirs.save_pretrained(name)
        folder, options = Path(name), ImportOptions()
        pretrained = read_config(folder)
        config = to_model_config(pretrained, options, folder)
        ours = load_pretrained(folder, pretrained, config, special_tokens, options.extend)
    decoding = to_decoding_config(pretrained.generation, config.target_length)
    return Pair(theirs, ours, EOS, decoding, version("transformers"))
