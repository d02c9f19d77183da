from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sumpool.bench.peers.transformers_peer import led
from sumpool.bench.workload import Conditions
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.data.items import Item
from sumpool.errors import Interrupted, NonFiniteError
from sumpool.progress import Progress
from sumpool.special_tokens import BOS, EOS, PAD, UNK
from sumpool.studies import led as module
from sumpool.studies.led import (
    LedDataset,
    LedGenerator,
    TrainerResult,
    TrainerSetup,
    TrainingClock,
    led_batch,
    led_example,
    train_led,
    validation_loss,
)
from sumpool.training.config import ScheduleConfig, TrainConfig
from sumpool.training.data_order import TrainingData

pytest.importorskip("transformers")
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=24,
    source_length=6,
    target_length=4,
    encoder=(EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=4)),),
    decoder=DecoderConfig(layers=1),
)


class Few(list[Item]):
    """Documents as a shard has them."""

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(item.ids) for item in self])


def item(length: int, target: int | None) -> Item:
    ids = np.arange(10, 10 + length)
    return Item(str(length), ids, np.zeros(length, np.int32), None if target is None else np.arange(50, 50 + target))


def test_documents_are_cut_as_ours_are() -> None:
    features = LedDataset(Few([item(9, 7), item(3, 2)]), CONFIG)
    assert len(features) == 2
    long, short = features[0], features[1]
    assert long["input_ids"].tolist() == [10, 11, 12, 13, 14, 15]
    assert long["labels"].tolist() == [50, 51, 52, 53]  # cut, so that it has no end
    assert short["labels"].tolist() == [50, 51, EOS]


def test_a_batch_is_padded_and_its_first_tokens_see_everything() -> None:
    batch = led_batch([led_example(item(2, 1), CONFIG), led_example(item(4, 2), CONFIG)])
    assert batch["input_ids"].tolist() == [[10, 11, 0, 0], [10, 11, 12, 13]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch["global_attention_mask"].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    assert batch["labels"].tolist() == [[50, EOS, -100], [50, 51, EOS]]


def test_documents_may_come_without_summaries() -> None:
    assert "labels" not in led_batch([led_example(item(2, None), CONFIG)])


def test_there_is_no_document_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="must lie within 0 and 0, got 1"):
        LedDataset(Few([item(2, 1)]), CONFIG)[1]


VOCABULARY = 24
LONG = CONFIG.model_copy(update={"target_length": 17, "source_length": 12})
PIECES = TokenSurfaces([b"", b"", b"", b"", *(f" w{number // 2}".encode() for number in range(4, VOCABULARY))])
"""Every word can be spelt by two pieces."""


def generator(config: DecodingConfig, lengths: Lengths, sizes: ModelConfig = LONG) -> LedGenerator:
    torch.manual_seed(3)
    model: Any = led(sizes, VOCABULARY).eval()
    with torch.no_grad():
        model.led.shared.weight *= 20  # sure of what it says
    return LedGenerator(model, sizes, config, lengths)


DOCUMENTS = [item(12, None), item(5, None), item(8, 3)]


@pytest.mark.parametrize("beams", [1, 3])
def test_lengths_are_kept(beams: int) -> None:
    config = DecodingConfig(beams=beams, no_repeat_words=0)
    for shortest, longest in ((3, 7), (16, 16)):
        for summary in generator(config, Lengths(shortest, longest)).generate(DOCUMENTS, PIECES):
            assert shortest <= len(summary) <= longest
            assert not {PAD, UNK, BOS, EOS} & set(summary)


@pytest.mark.parametrize("beams", [1, 3])
def test_no_run_of_words_is_written_twice(beams: int) -> None:
    def words(summary: list[int]) -> list[tuple[int, int]]:
        return list(pairwise(piece // 2 for piece in summary))

    def repeat(config: DecodingConfig) -> bool:
        found = [words(summary) for summary in generator(config, Lengths(16, 16)).generate(DOCUMENTS, PIECES)]
        return any(len(set(runs)) < len(runs) for runs in found)

    assert repeat(DecodingConfig(beams=beams, no_repeat_words=0))
    assert not repeat(DecodingConfig(beams=beams, no_repeat_words=2))


def test_no_run_of_tokens_is_written_twice() -> None:
    config = DecodingConfig(beams=1, no_repeat_words=0, no_repeat_tokens=2)
    for summary in generator(config, Lengths(16, 16)).generate(DOCUMENTS, PIECES):
        assert len(set(pairwise(summary))) == len(summary) - 1


def test_batch_mates_decide_nothing() -> None:
    writing = generator(DecodingConfig(beams=1), Lengths(4, 16))
    together = writing.generate(DOCUMENTS, PIECES)
    assert together == [summary for document in DOCUMENTS for summary in writing.generate([document], PIECES)]


def test_each_piece_is_the_likeliest_that_is_allowed() -> None:
    writing = generator(DecodingConfig(beams=1, no_repeat_words=0), Lengths(16, 16))
    (summary,) = writing.generate(DOCUMENTS[:1], PIECES)
    ids = torch.tensor(DOCUMENTS[0].ids)[None]
    first = torch.zeros_like(ids)
    first[0, 0] = 1
    with torch.no_grad():
        logits = writing.model(
            input_ids=ids, global_attention_mask=first, decoder_input_ids=torch.tensor([[BOS, *summary[:-1]]])
        ).logits[0]
    logits[:, [PAD, UNK, BOS, EOS]] = -torch.inf
    assert logits.argmax(-1).tolist() == summary


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_stopwatch_counts_only_while_it_runs(clock: Clock) -> None:
    stopwatch = TrainingClock(10, [1.0], clock)
    clock.seconds += 5
    assert (stopwatch.seconds, stopwatch.share) == (0, 0)
    stopwatch.start()
    clock.seconds += 2
    assert (stopwatch.seconds, stopwatch.share) == (2, 0.2)
    stopwatch.stop()
    clock.seconds += 50
    assert (stopwatch.seconds, stopwatch.share) == (2, 0.2)
    stopwatch.start()
    clock.seconds += 8
    assert (stopwatch.seconds, stopwatch.share) == (10, 1)
    clock.seconds += 10
    assert stopwatch.share == 1


def judged(stopwatch: TrainingClock, clock: Clock, laps: Sequence[float]) -> Iterator[bool]:
    for lap in laps:
        stopwatch.start()
        clock.seconds += lap
        stopwatch.stop()
        yield stopwatch.is_due()


def test_a_validation_is_due_once_its_share_is_gone(clock: Clock) -> None:
    for shares, laps, expected in (
        ([0.25, 1.0], [2, 0.5, 1, 6, 0.5], [False, True, False, False, True]),
        ([0.25, 0.5, 1.0], [6, 3, 2], [True, False, True]),  # two are due together
        ([0.5], [6, 1, 5], [True, False, True]),  # the end is always judged
        ([0.5, 1.0], [30], [True]),
    ):
        assert list(judged(TrainingClock(10, shares, clock), clock, laps)) == expected


pytest.importorskip("transformers")
pytest.importorskip("accelerate")
TRAINED_VOCABULARY = 40


def documents(count: int) -> Few:
    """Documents whose summaries are their first pieces."""
    random = np.random.default_rng(1)
    found = Few()
    for number in range(count):
        ids = random.integers(5, TRAINED_VOCABULARY, random.integers(3, 9))
        found.append(Item(str(number), ids, np.zeros(len(ids), np.int32), ids[: random.integers(1, 4)]))
    return found


def setup(seconds: float = 0.2) -> TrainerSetup:
    data = TrainingData(documents(21), documents(9), CONFIG.source_length, CONFIG.target_length, seed=7)
    schedule = ScheduleConfig(kind="constant", warmup=0)
    train = TrainConfig(learning_rate=1e-2, accumulate=2, batch_tokens=12, schedule=schedule, steps=100)
    conditions = Conditions(TRAINED_VOCABULARY, torch.device("cpu"), torch.float32, seed=7)
    return TrainerSetup(CONFIG, train, data, 4, seconds, [0.5, 1.0], conditions)


def best(trained: TrainerResult) -> float:
    return min(loss for _, loss in trained.losses)


def untrained(seed: int = 7) -> Any:  # noqa: ANN401 - a type of transformers
    torch.manual_seed(seed)
    return led(CONFIG, TRAINED_VOCABULARY)


def naive_nats(model: Any, items: Few) -> float:  # noqa: ANN401
    """One document at a time, unpadded, token by token."""
    nats: list[float] = []
    for document in items:
        ids = torch.tensor(document.ids[:6])[None]
        assert document.target is not None
        target = [*document.target.tolist(), EOS][:4]
        first = torch.zeros_like(ids)
        first[0, 0] = 1
        with torch.no_grad():
            logits = model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                global_attention_mask=first,
                decoder_input_ids=torch.tensor([[BOS, *target[:-1]]]),
            ).logits[0]
        nats += [-logits[place].log_softmax(-1)[piece].item() for place, piece in enumerate(target)]
    return sum(nats) / len(nats)


def test_the_loss_counts_every_token_of_a_summary_once() -> None:
    model = untrained().eval()
    assert validation_loss(model, setup()) == pytest.approx(naive_nats(model, documents(9)), abs=1e-5)


def test_the_loss_is_what_their_trainer_calls_so(tmp_path: Any) -> None:  # noqa: ANN401
    """Where all documents are one batch; their mean over several would not be one over tokens."""
    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

    arguments = Seq2SeqTrainingArguments(
        output_dir=tmp_path,
        per_device_eval_batch_size=9,
        use_cpu=True,
        report_to="none",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
    )
    model = untrained()
    trainer = Seq2SeqTrainer(
        model=model, args=arguments, data_collator=led_batch, eval_dataset=LedDataset(documents(9), CONFIG)
    )
    assert validation_loss(model, setup()) == pytest.approx(trainer.evaluate()["eval_loss"], abs=1e-5)


@pytest.mark.usefixtures("ticking")
def test_it_learns_for_the_time_that_it_is_given() -> None:
    heard: list[Progress] = []
    given = setup(seconds=1.0)
    before = validation_loss(untrained(), given)
    trained = train_led(given, heard.append)
    assert best(trained) < before - 0.1
    assert validation_loss(trained.model, given) == pytest.approx(best(trained))
    assert len(trained.tokens_per_second) > 3
    (first, _), (last, _) = trained.losses
    assert 0.5 <= first < last
    assert 1.0 <= last < 1.1
    assert trained.parameters == sum(weights.numel() for weights in untrained().parameters())
    assert trained.peak_memory is None or trained.peak_memory >= 0
    assert [progress.note.split(", ")[0] for progress in heard if progress.note] == ["LED after 1 s"] * 2
    assert (heard[-1].task, heard[-1].done, heard[-1].total) == ("LED", 1, 1)


def test_speed_is_of_source_tokens_without_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    class Steady:
        """A clock on which every update takes two seconds."""

        seconds, share = 0.0, 0.0

        def __init__(self, *_: object) -> None: ...

        def start(self) -> None: ...

        def stop(self) -> None:
            self.seconds += 2
            self.share = min(1.0, self.seconds // 6)  # an epoch: 21 documents, eight an update

        def is_due(self) -> bool:
            return self.share >= 1

    monkeypatch.setattr(module, "TrainingClock", Steady)
    trained = train_led(setup())
    assert len(trained.tokens_per_second) == 3
    read = sum(min(6, len(document.ids)) for document in documents(21))
    assert sum(2 * speed for speed in trained.tokens_per_second) == pytest.approx(read)


def test_the_rate_goes_by_the_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []

    def rate(_: TrainerSetup, share: float) -> float:
        shares.append(share)
        return 0.0

    monkeypatch.setattr(TrainerSetup, "rate", rate)
    trained = train_led(setup(0.5))
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert len(shares) == 2 * (len(trained.tokens_per_second) + 1)  # once for weights that decay, once for others
    assert 0.9 < shares[-1] <= 1
    for name, weights in untrained().state_dict().items():  # nothing changes at a rate of 0, by theirs or ours
        assert torch.equal(weights, trained.model.state_dict()[name])


def test_the_rate_is_that_of_the_runs_schedule() -> None:
    train = setup().train.model_copy(update={"schedule": ScheduleConfig(kind="linear", warmup=0, floor=0.0)})
    halfway = replace(setup(), train=train)
    assert [halfway.rate(share) for share in (0.0, 0.5, 1.0)] == [1.0, 0.5, 0.0]


@pytest.mark.usefixtures("ticking")
def test_the_weights_of_the_best_validation_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, Tensor]] = []

    def worse_and_worse(model: Any, *_: object) -> float:  # noqa: ANN401
        found.append({name: value.clone() for name, value in model.state_dict().items()})
        return float(len(found))

    monkeypatch.setattr(module, "validation_loss", worse_and_worse)
    trained = train_led(setup(0.5))
    assert best(trained) == 1
    name = "led.shared.weight"
    assert torch.equal(trained.model.state_dict()[name], found[0][name])
    assert not torch.equal(found[-1][name], found[0][name])


def test_it_says_what_would_help_where_it_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "validation_loss", lambda *_: float("nan"))
    with pytest.raises(NonFiniteError, match=r"LED after \d+ updates must be finite, got nan: lower study\.learn"):
        train_led(setup())


def test_it_stops_where_it_is_told_to() -> None:
    calls: list[int] = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Interrupted(15)

    with pytest.raises(Interrupted):
        train_led(setup(60.0), check=check)
    assert len(calls) == 3


def test_a_batch_of_the_longest_is_measured() -> None:
    training = Few(item(length, 1) for length in (2, 7, 3, 6, 9, 5))
    given = replace(setup(), batch=3, data=replace(setup().data, training=training))
    assert given.longest() == [1, 3, 4]  # 6 tokens are read of each
