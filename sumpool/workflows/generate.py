"""`sumpool generate`: a prompt or nothing in, text of a language model out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sumpool.progress import Check, Progress, Report, no_op
from sumpool.tasks.language_modeling.generation import decode_stream, generate_tokens
from sumpool.tasks.language_modeling.loading import LoadedLanguageModel, encode_prompt, load_language_model


@dataclass(frozen=True)
class WrittenText:
    """Text as a language model writes it.

    Attributes:
        prompt: Beginning of the text as the model reads it; empty without one.
        seed: Seed of its random numbers.
        tokens: Tokens that are generated.
        parts: Its parts in order, each as soon as it is generated; read once.
    """

    prompt: str
    seed: int
    tokens: int
    parts: Iterator[str]


def generate(
    run: Path | None = None,
    prompt: str = "",
    count: int = 1,
    *,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[WrittenText]:
    """Write texts with a language model.

    Args:
        run: The run folder; None takes the newest run of a language model.
        prompt: Beginning of the text; empty for none.
        count: Number of texts; their seeds follow each other.
        overrides: Settings to change, each like `generate.temperature=0.8`.
        report: Called with notes on model and prompt.
        check: Called before each token.

    Yields:
        Texts one after the other; one is generated while it is read.

    Raises:
        CheckpointError: If there is no language model, or it is damaged.
        RecipeError: If a setting is wrong.
        ResourceError: If memory runs out.
    """
    # 1. Load the model, so that its errors appear before the first token.
    loaded = load_language_model(run, overrides)
    report(Progress("generate", note=f"model: {loaded.folder}{'' if run else ' (the newest language model)'}"))
    # 2. Encode the prompt as the training text was.
    ids, shown, unknown = encode_prompt(prompt, loaded)
    if unknown:
        report(Progress("generate", note=f"{unknown:,} characters of the prompt are not in the vocabulary"))
    # 3. Generate each text as it is read.
    for number in range(count):
        yield _write(loaded, ids, shown, number, check)


def _write(loaded: LoadedLanguageModel, ids: Sequence[int], shown: str, number: int, check: Check) -> WrittenText:
    sampling = loaded.recipe.generate.model_copy(update={"seed": loaded.recipe.generate.seed + number})
    tokens = generate_tokens(loaded.model, ids, sampling, loaded.forbidden, loaded.device, check)
    return WrittenText(shown, sampling.seed, sampling.length, decode_stream(tokens, loaded.token_bytes))
