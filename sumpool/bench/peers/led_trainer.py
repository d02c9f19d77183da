"""Train LED of transformers with `Seq2SeqTrainer` on a run's data for the run's wall-clock time.

Its time is that of updates alone: the clock stands still while it is validated, as it does for a run. The learning rate
goes by the share of the time that is gone, since the number of updates is not known beforehand. The validation loss is
a sum over tokens as ours is (the Trainer's mean over batches would weigh short ones more).
"""

import math
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from sumpool.bench.measures.timing import synchronize
from sumpool.bench.peers.led import IGNORED, LedDataset, led_batch
from sumpool.bench.peers.trainer_setup import TrainerResult, TrainerSetup, TrainingClock
from sumpool.bench.peers.transformers_peer import led
from sumpool.errors import NonFiniteError
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.training.memory import peak
from sumpool.training.validation import validation_batches

TASK = "LED"
_ENDLESS = 2**31 - 1
"""Updates; the clock ends training before."""


def train_led(setup: TrainerSetup, report: Report = silent, check: Check = go_on) -> TrainerResult:
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
def validation_loss(model: Any, setup: TrainerSetup, check: Check = go_on) -> float:  # noqa: ANN401
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
                f"bench.learning_rate, now {self.setup.train.learning_rate}"
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
