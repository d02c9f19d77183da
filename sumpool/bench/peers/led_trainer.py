"""LED of transformers, from random weights, taught by the Trainer of transformers for a given time.

Everything is theirs but three things that go by the clock: a callback that validates and stops, the learning rate, and
the validation itself, which is a sum over tokens as ours is (their mean over batches would weigh short ones more).
"""

import math
from tempfile import TemporaryDirectory
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from sumpool.bench.measures.timing import synchronize
from sumpool.bench.peers.led_inputs import IGNORED, Features, feature, inputs
from sumpool.bench.peers.trainer import Course, Learnt, Lessons
from sumpool.bench.peers.transformers_models import led
from sumpool.errors import NonFiniteError
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent
from sumpool.training.memory import peak

TASK = "LED"
_ENDLESS = 2**31 - 1
"""Updates; the clock ends it before."""


def teach(lessons: Lessons, report: Report = silent, check: Check = go_on) -> Learnt:
    """Train LED for the time of the lessons.

    Args:
        lessons: What it learns from.
        report: Hears how it goes.
        check: Called after every update, and between batches of a validation; it may raise to stop.

    Raises:
        NonFiniteError: If a validation loss is not finite.
    """
    from transformers import PrinterCallback, Seq2SeqTrainer

    torch.manual_seed(lessons.conditions.seed)
    model = led(lessons.config, lessons.conditions.vocabulary)
    pupil = _Pupil(model, lessons, report, check)
    with TemporaryDirectory() as folder:
        trainer = Seq2SeqTrainer(
            model=model,
            args=_arguments(lessons, folder),
            data_collator=inputs,
            train_dataset=Features(lessons.training, lessons.config),
            callbacks=[_callback(pupil)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.create_optimizer()
        trainer.lr_scheduler = LambdaLR(trainer.optimizer, lambda _: lessons.descent.rate(pupil.course.share))
        trainer.train()
        memory = _peak(trainer, lessons)
    model.load_state_dict(pupil.best)
    return Learnt(
        model=model.eval(),
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        updates=len(pupil.speeds),
        losses=tuple(pupil.losses),
        tokens_per_second=tuple(pupil.speeds),
        peak_memory=memory,
    )


@torch.no_grad()
def validate(model: Any, lessons: Lessons, check: Check = go_on) -> float:  # noqa: ANN401 - a type of transformers
    """Take the mean surprise at the validation summaries, as `training.validation` does of our models.

    Returns:
        Nats per target token; every token counts the same.
    """
    model.eval()
    device = lessons.conditions.device
    total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
    for items in lessons.validation:
        check()
        batch = {name: part.to(device) for name, part in _batch(items, lessons).items()}
        with lessons.conditions.autocast():
            logits: Tensor = model(**batch).logits  # (batch, target, vocab)
        labels = batch["labels"].flatten()
        total += F.cross_entropy(logits.float().flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum")
        tokens += int((labels != IGNORED).sum())
    return float(total) / tokens


@final
class _Pupil:
    """A model on its course, and what it has shown so far."""

    def __init__(self, model: Any, lessons: Lessons, report: Report, check: Check) -> None:  # noqa: ANN401
        self.model = model
        self.lessons = lessons
        self.report = report
        self.check = check
        self.course = Course(lessons.seconds, lessons.shares)
        self.losses: list[tuple[float, float]] = []
        self.speeds: list[float] = []
        self.best: dict[str, Tensor] = {}
        self._seen = 0
        self._before = 0.0

    def updated(self, seen: int) -> None:
        """Take note of an update after which so many source tokens were seen, and judge the model if that is due."""
        synchronize(self.lessons.conditions.device)
        self.course.stop()
        self.check()
        seconds = self.course.seconds
        self.speeds.append((seen - self._seen) / (seconds - self._before))
        self._seen, self._before = seen, seconds
        if self.course.is_due():
            self._judge()
        self._tell()
        self.course.go()

    def _judge(self) -> None:
        """Validate, and keep the weights if they are the best so far."""
        loss = validate(self.model, self.lessons, self.check)
        if not math.isfinite(loss):
            raise NonFiniteError(
                f"the validation loss of LED after {len(self.speeds)} updates must be finite, got {loss}: lower "
                f"bench.learning_rate, now {self.lessons.descent.learning_rate}"
            )
        if all(loss < before for _, before in self.losses):
            self.best = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.losses.append((self.course.seconds, loss))
        self._tell(f"LED after {self.course.seconds:.0f} s, {len(self.speeds)} updates: validation loss {loss:.4g}")

    def _tell(self, note: str = "") -> None:
        whole = math.ceil(self.lessons.seconds)
        done = min(whole, int(self.course.seconds))
        self.report(Progress(TASK, done, whole, {"tokens/s": self.speeds[-1]}, note))


def _callback(pupil: _Pupil) -> Any:  # noqa: ANN401
    """Let their Trainer ask the pupil after every update; the base is only there once transformers is."""
    from transformers import TrainerCallback

    def begin(*_: Any) -> None:  # noqa: ANN401
        pupil.course.go()

    def end_of_update(_callback: Any, _arguments: Any, state: Any, control: Any) -> Any:  # noqa: ANN401
        pupil.updated(int(state.num_input_tokens_seen))
        control.should_training_stop = pupil.course.over
        return control

    names = {
        "on_train_begin": lambda *given, **_: begin(*given),  # what else they hand on is theirs to change
        "on_step_end": lambda *given, **_: end_of_update(*given),
    }
    return type("ByTheClock", (TrainerCallback,), names)()


def _arguments(lessons: Lessons, folder: str) -> Any:  # noqa: ANN401
    """Say all of it in their words; nothing is written, shown or sent."""
    from transformers import Seq2SeqTrainingArguments

    conditions, descent = lessons.conditions, lessons.descent
    return Seq2SeqTrainingArguments(
        output_dir=folder,
        max_steps=_ENDLESS,
        per_device_train_batch_size=lessons.batch,
        gradient_accumulation_steps=lessons.accumulate,
        train_sampling_strategy="group_by_length",
        learning_rate=descent.learning_rate,
        adam_beta1=descent.betas[0],
        adam_beta2=descent.betas[1],
        weight_decay=descent.weight_decay,
        max_grad_norm=descent.clip,
        label_smoothing_factor=descent.label_smoothing,
        bf16=conditions.precision is torch.bfloat16,
        use_cpu=conditions.device.type == "cpu",
        seed=conditions.seed,
        include_num_input_tokens_seen="non_padding",
        remove_unused_columns=False,
        dataloader_pin_memory=conditions.device.type != "cpu",
        eval_strategy="no",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def _batch(items: Any, lessons: Lessons) -> dict[str, Tensor]:  # noqa: ANN401
    return inputs([feature(item, lessons.config) for item in items])


def _peak(trainer: Any, lessons: Lessons) -> int | None:  # noqa: ANN401
    """Measure an update with the longest batch, as `sumpool train --dry-run` measures ours."""
    batch = _batch([lessons.training[number] for number in lessons.longest()], lessons)

    def update() -> None:
        trainer.model.zero_grad()
        trainer.training_step(trainer.model, dict(batch))
        trainer.optimizer.step()

    update()  # the first one also prepares memory and kernels
    return peak(update, lessons.conditions.device)
