"""LED of transformers on a run's documents: trained with `Seq2SeqTrainer` for the run's wall-clock time.

Documents have the same tokens, cut at the same lengths. The time is that of updates alone: the clock stands still
while LED is validated, as it does for a run. The learning rate goes by the share of the time that is gone, since the
number of updates is not known beforehand. The validation loss is a sum over tokens as ours is (the Trainer's mean over
batches would weigh short ones more).
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from tempfile import TemporaryDirectory
from typing import Any, final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR

from sumpool.bench.measures.timing import synchronize
from sumpool.bench.peers.transformers_peer import led, token_ids
from sumpool.bench.workload import Conditions
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import NoRepeatWords, TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import ModelConfig
from sumpool.data.batches import collate
from sumpool.data.items import Item
from sumpool.errors import NonFiniteError
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.training.config import TrainConfig
from sumpool.training.data_order import ItemSource, TrainingData
from sumpool.training.memory import peak
from sumpool.training.optimizer import schedule_factor
from sumpool.training.validation import validation_batches

IGNORED = -100
"""Label of padding."""
TASK = "LED"


@final
@dataclass
class LedDataset:
    """Documents as a data set of torch: unpadded `input_ids` (length,) and `labels` (target,)."""

    items: ItemSource
    config: ModelConfig
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> Mapping[str, Tensor]:
        if not 0 <= number < len(self):
            raise IndexError(f"a document's number must lie within 0 and {len(self) - 1}, got {number}")
        return led_example(self.items[number], self.config, self.special_tokens)


def led_example(
    item: Item, config: ModelConfig, special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS
) -> dict[str, Tensor]:
    """Cut a document, and a summary if there is one, at the lengths of our model."""
    batch = collate([item], config.source_length, config.target_length, special_tokens=special_tokens)
    return {"input_ids": batch.ids[0]} | ({} if batch.target is None else {"labels": batch.target[0]})


def led_batch(examples: Sequence[Mapping[str, Tensor]], pad: int = DEFAULT_SPECIAL_TOKENS.pad) -> dict[str, Tensor]:
    """Pad documents into a batch; all have labels, or none has.

    Returns:
        `input_ids`, `attention_mask` and `global_attention_mask` (batch, length), the first token of every document
        being global; and `labels` (batch, target).
    """
    documents = [example["input_ids"] for example in examples]
    ids = pad_sequence(documents, batch_first=True, padding_value=pad)
    mask = pad_sequence([torch.ones_like(document) for document in documents], batch_first=True)
    first = torch.zeros_like(ids)
    first[:, 0] = 1
    batch = {"input_ids": ids, "attention_mask": mask, "global_attention_mask": first}
    if "labels" in examples[0]:
        labels = [example["labels"] for example in examples]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
    return batch


@final
@dataclass
class LedGenerator:
    """Generates summaries with one LED by `generate` of transformers, under the rules of our search.

    Beams, lengths, early stopping and both rules against repetition are those of the settings, the one for words as a
    processor of scores. With several beams `generate` uses its own length formula. It has one maximum length for all
    documents, where ours writes no more than it reads, and tokens that a summary must begin with are left out.
    """

    model: Any
    sizes: ModelConfig
    config: DecodingConfig
    lengths: Lengths
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS

    def generate(self, documents: Sequence[Item], surfaces: TokenSurfaces) -> list[list[int]]:
        """Summarise a batch of documents; returns the tokens of each summary without EOS."""
        from transformers import LogitsProcessorList

        repeat, tokens = self.config.no_repeat_words, self.special_tokens
        rules = [_NoRepeatWordsProcessor(NoRepeatWords(repeat, surfaces), tokens.decoder_start)] if repeat else []
        examples = [{"input_ids": led_example(item, self.sizes, tokens)["input_ids"]} for item in documents]
        batch = {name: part.to(self.model.device) for name, part in led_batch(examples, tokens.pad).items()}
        self.model.eval()
        with torch.inference_mode():
            summaries = self.model.generate(
                **batch, generation_config=self._settings(), logits_processor=LogitsProcessorList(rules)
            )
        return [list(takewhile(lambda token: token != tokens.eos, row[1:])) for row in summaries.tolist()]

    def _settings(self) -> Any:  # noqa: ANN401
        from transformers import GenerationConfig

        tokens = self.special_tokens
        return GenerationConfig(
            do_sample=False,
            num_beams=self.config.beams,
            length_penalty=self.config.length_penalty,
            early_stopping=self.config.early_stopping,
            min_new_tokens=self.lengths.minimum,
            max_new_tokens=self.lengths.maximum + 1,  # EOS
            no_repeat_ngram_size=self.config.no_repeat_tokens,
            suppress_tokens=list(tokens.suppressed),
            **token_ids(tokens, force_end=self.config.force_end),
        )


@final
class _NoRepeatWordsProcessor:
    """Our rule against repeated words as a processor of scores."""

    def __init__(self, first: NoRepeatWords, start: int) -> None:
        self._known: dict[tuple[int, ...], NoRepeatWords] = {(start,): first}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Forbid what would repeat: input_ids (rows, generated), scores (rows, vocab)."""
        known = {}
        for row, tokens in enumerate(map(tuple, input_ids.tolist())):
            rule = self._known.get(tokens) or self._known[tokens[:-1]].after(tokens[-1])
            known[tokens] = rule
            scores[row, list(rule.forbidden())] = -torch.inf
        self._known = known
        return scores


@dataclass(frozen=True)
class TrainerSetup:
    """Data, settings and time of a training.

    LED has the sizes of `config`. It is trained for `seconds` of updates, with `batch` documents at once, and validated
    at `shares` of that time, ascending; the last one is 1.
    """

    config: ModelConfig
    train: TrainConfig
    data: TrainingData
    batch: int
    seconds: float
    shares: Sequence[float]
    conditions: Conditions

    def rate(self, share: float) -> float:
        """Share of the peak learning rate at a share of the time."""
        return schedule_factor(int(share * self.train.steps), self.train.schedule, self.train.steps)

    def longest(self) -> list[int]:
        """Indices of the documents of a batch of the longest, as they are read."""
        read = np.minimum(self.data.training.lengths, self.config.source_length)
        return [int(index) for index in np.argsort(-read, kind="stable")[: self.batch]]

    def collate(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Inputs of LED for some documents."""
        special_tokens = self.data.special_tokens
        return led_batch([led_example(item, self.config, special_tokens) for item in items], special_tokens.pad)


@dataclass(frozen=True)
class TrainerResult:
    """A trained LED, with the weights that were best on validation.

    `losses` are seconds of updates before each validation and its loss in nats per token; the speed is of source tokens
    without padding; and peak memory of an update with the longest batch, in bytes beside weights and moments.
    """

    model: Any
    parameters: int
    losses: tuple[tuple[float, float], ...]
    tokens_per_second: tuple[float, ...]
    peak_memory: int | None


@dataclass
class TrainingClock:
    """Stopwatch of the updates; a validation is due at each share of the limit, in seconds, and at its end."""

    limit: float
    due: Sequence[float]
    now: Callable[[], float] = time.perf_counter
    _gone: float = 0.0
    _since: float | None = None

    def start(self) -> None:
        """Start the clock."""
        self._since = self.now()

    def stop(self) -> None:
        """Stop the clock."""
        self._gone, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """Seconds that it has run."""
        return self._gone + (0.0 if self._since is None else self.now() - self._since)

    @property
    def share(self) -> float:
        """Share of the time that is gone."""
        return min(1.0, self.seconds / self.limit)

    def is_due(self) -> bool:
        """Whether a validation is due; all that were missed are due together."""
        before, self.due = self.due, [share for share in self.due if share > self.share]
        return len(self.due) < len(before) or self.share >= 1


_ENDLESS = 2**31 - 1
"""Updates; the clock ends training before."""


def train_led(setup: TrainerSetup, report: Report = no_op, check: Check = no_op) -> TrainerResult:
    """Train LED; `check` is called after every update and between batches of a validation.

    Raises:
        NonFiniteError: If a validation loss is not finite.
    """
    from transformers import PrinterCallback, Seq2SeqTrainer

    torch.manual_seed(setup.conditions.seed)
    model = led(setup.config, setup.conditions.vocabulary, setup.data.special_tokens)
    progress = _TimedTraining(model, setup, report, check)
    with TemporaryDirectory() as folder:
        trainer = Seq2SeqTrainer(
            model=model,
            args=_arguments(setup, folder),
            data_collator=partial(led_batch, pad=setup.data.special_tokens.pad),
            train_dataset=LedDataset(setup.data.training, setup.config, setup.data.special_tokens),
            callbacks=[_callback(progress)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.create_optimizer()
        trainer.lr_scheduler = LambdaLR(trainer.optimizer, lambda _: setup.rate(progress.clock.share))
        trainer.train()
        memory = _peak(trainer, setup)
    model.load_state_dict(progress.best)
    parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return TrainerResult(model.eval(), parameters, tuple(progress.losses), tuple(progress.speeds), memory)


@torch.no_grad()
def validation_loss(model: Any, setup: TrainerSetup, check: Check = no_op) -> float:  # noqa: ANN401
    """Nats per target token, every token counting the same, as `training.validation` takes it of our models."""
    model.eval()
    total, tokens = 0.0, 0
    for indices in validation_batches(setup.data, setup.train):
        check()
        inputs = setup.collate([setup.data.validation[index] for index in indices])
        batch = {name: part.to(setup.conditions.device) for name, part in inputs.items()}
        with setup.conditions.autocast():
            logits: Tensor = model(**batch).logits  # (batch, target, vocab)
        labels = batch["labels"].flatten()
        total += float(F.cross_entropy(logits.float().flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum"))
        tokens += int((labels != IGNORED).sum())
    return total / tokens


@final
class _TimedTraining:
    """Progress of a training by the clock, with the best weights so far."""

    def __init__(self, model: Any, setup: TrainerSetup, report: Report, check: Check) -> None:  # noqa: ANN401
        self.model, self.setup, self.report, self.check = model, setup, report, check
        self.clock = TrainingClock(setup.seconds, setup.shares)
        self.losses: list[tuple[float, float]] = []
        self.speeds: list[float] = []
        self.best: dict[str, Tensor] = {}
        self._tokens, self._seconds = 0, 0.0

    def updated(self, tokens: int) -> bool:
        """Record an update, after which so many source tokens were seen, and validate if that is due.

        Returns:
            Whether the time is over, by the same look at the clock, so that the last validation is not passed over.
        """
        synchronize(self.setup.conditions.device)
        self.clock.stop()
        self.check()
        seconds = self.clock.seconds
        self.speeds.append((tokens - self._tokens) / (seconds - self._seconds))
        self._tokens, self._seconds = tokens, seconds
        if self.clock.is_due():
            self._validate()
        self._report()
        is_over = self.clock.share >= 1
        self.clock.start()
        return is_over

    def _validate(self) -> None:
        """Validate, and keep the weights if they are the best so far."""
        loss = validation_loss(self.model, self.setup, self.check)
        if not math.isfinite(loss):
            raise NonFiniteError(
                f"the validation loss of LED after {len(self.speeds)} updates must be finite, got {loss}: lower "
                f"study.learning_rate, now {self.setup.train.learning_rate}"
            )
        if all(loss < before for _, before in self.losses):
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.losses.append((self.clock.seconds, loss))
        self._report(f"LED after {self.clock.seconds:.0f} s, {len(self.speeds)} updates: validation loss {loss:.4g}")

    def _report(self, note: str = "") -> None:
        whole = math.ceil(self.setup.seconds)
        done = min(whole, int(self.clock.seconds))
        self.report(Progress(TASK, done, whole, {"tokens/s": self.speeds[-1]}, note))


def _callback(progress: _TimedTraining) -> Any:  # noqa: ANN401
    """Callback of the Trainer; the class is made here because its base needs transformers."""
    from transformers import TrainerCallback

    def end_of_update(_self: Any, _arguments: Any, state: Any, control: Any) -> None:  # noqa: ANN401
        control.should_training_stop = progress.updated(int(state.num_input_tokens_seen))

    names = {
        "on_train_begin": lambda *_, **__: progress.clock.start(),
        "on_step_end": lambda *given, **_: end_of_update(*given),
    }
    return type("ClockCallback", (TrainerCallback,), names)()


def _arguments(setup: TrainerSetup, folder: str) -> Any:  # noqa: ANN401
    """Settings of the Trainer; nothing is saved, printed or sent."""
    from transformers import Seq2SeqTrainingArguments

    train, on_cpu = setup.train, setup.conditions.device.type == "cpu"
    return Seq2SeqTrainingArguments(
        output_dir=folder,
        max_steps=_ENDLESS,
        per_device_train_batch_size=setup.batch,
        gradient_accumulation_steps=train.accumulate,
        train_sampling_strategy="group_by_length",
        learning_rate=train.learning_rate,
        adam_beta1=train.betas[0],
        adam_beta2=train.betas[1],
        weight_decay=train.weight_decay,
        max_grad_norm=train.clip,
        label_smoothing_factor=train.label_smoothing,
        bf16=setup.conditions.precision is torch.bfloat16,
        use_cpu=on_cpu,
        seed=setup.conditions.seed,
        include_num_input_tokens_seen="non_padding",
        remove_unused_columns=False,
        dataloader_pin_memory=not on_cpu,
        eval_strategy="no",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def _peak(trainer: Any, setup: TrainerSetup) -> int | None:  # noqa: ANN401
    """Measure an update with the longest batch, as `sumpool train --dry-run` measures ours."""
    batch = setup.collate([setup.data.training[index] for index in setup.longest()])

    def update() -> None:
        trainer.model.zero_grad()
        trainer.training_step(trainer.model, dict(batch))
        trainer.optimizer.step()

    update()  # the first one also prepares memory and kernels
    return peak(update, setup.conditions.device)
