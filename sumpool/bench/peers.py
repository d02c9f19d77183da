"""Models of other libraries with random weights, in the sizes of ours; a library is imported when a peer is built.

All have an encoder and a decoder of as many layers, heads and features as ours; they differ in what the encoder's
tokens see. None of them pools. Special tokens have our ids. Each runs in the precision in which it is fastest.

CTranslate2, a C++ engine that only generates, has a process of its own: it keeps threads beside those of torch, and as
long as its engine exists, the small products of a model in the same process take twice as long.
It is converted from a random BART of transformers. Its tokens are strings, here the ids in digits.

ONNX Runtime and OpenVINO, in processes of their own too, run the exported graphs of our model in the shape of BART:
full attention, and no pooling. A process that has used OpenVINO is ended by the next signal, whatever its handlers.
"""

import logging
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.config import BenchConfig, Workload
from sumpool.bench.measures import clock
from sumpool.bench.workload import NAMES, Conditions, Contender, Documents
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.attention.vanilla import VanillaAttentionConfig
from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, Ranking
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.core.model.summarizer import DecoderState, SummarizationModel
from sumpool.core.output import TiedOutputConfig
from sumpool.data.processes import WorkerPool
from sumpool.errors import RecipeError, ResourceError
from sumpool.onnx import DECODER, ENCODER, OnnxModel, convert
from sumpool.progress import Progress, Report, no_op
from sumpool.special_tokens import BOS, EOS, PAD, UNK
from sumpool.training.hardware import Work

Build = Callable[[ModelConfig, int], Any]
"""Builds a model of transformers, with random weights, of our configuration and the size of the vocabulary."""
GLOBAL_TOKENS = 32
"""Global tokens of PEGASUS-X, as published."""
TOKEN_IDS = {
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": BOS,
    "forced_eos_token_id": None,  # by default EOS would be forced
}
"""Our special tokens under the names of transformers."""

_COMPUTE_TYPES = ("float32", "int8", "bfloat16", "int8_bfloat16")
"""Compute types that may be the fastest; int8 concerns the weights and the products with them only."""
_Call = tuple[Workload, list[Any], Sequence[int] | None, tuple[int, ...], torch.device | None]
"""A workload, arrays and lengths of its documents, and sizes; its peak memory is measured if there is a device."""
_Answer = tuple[str | None, int | None]
"""Precision of the workload, and its peak memory if that was measured."""
_REPEATS = 2
_TRIAL, _TRIAL_WRITTEN = 1024, 16
"""Tokens, at most, of the documents that compare precisions, and of what is written about them."""
ENGINES = {
    "CTranslate2": ("ctranslate2",),
    "ONNX Runtime": ("onnxruntime", "onnx", "onnxscript"),
    "OpenVINO": ("openvino", "onnxruntime", "onnx", "onnxscript"),
}
"""Peers that have a process of their own, and the libraries that they need beside transformers."""
LIBRARIES = ("transformers", "ctranslate2", "onnxruntime", "openvino")
_INSTALL = "pip install 'sumpool[peers]'"


def build_peers(
    config: ModelConfig, settings: BenchConfig, conditions: Conditions, report: Report
) -> dict[str, Contender]:
    """Build the installed peers that the settings name, or all of them, each to run in its fastest precision.

    `report` receives a notice for each engine whose libraries are missing.

    Raises:
        RecipeError: If transformers is missing, from whose models those of CTranslate2 are made, or a peer that is
            asked for is not among them.
    """
    if find_spec("transformers") is None:
        raise RecipeError(f"--peers must have transformers and ctranslate2, transformers is not installed: {_INSTALL}")
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
    threads = torch.get_num_threads()
    for name, libraries in ENGINES.items():
        if missing := [library for library in libraries if find_spec(library) is None]:
            notice = f"{name} is left out, {missing[0]} is not installed: {_INSTALL}"
            report(Progress("bench", note=notice))
        elif conditions.device.type == "cpu" or name not in RUNTIMES:
            peers[name] = PeerProcess(
                partial(_fastest, name, long, conditions, threads, trial, settings.beams, written)
            )
    unknown = [name for name in settings.peers if name not in peers]
    if unknown:
        raise RecipeError(f"bench.peers must name some of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in settings.peers or peers}


def led(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401 - a type of transformers
    """Longformer's encoder (Beltagy et al., 2020): every token sees a window of one of our blocks around it.

    No token is global, as the first one usually is: that would only add work.
    """
    from transformers import LEDConfig, LEDForConditionalGeneration

    # It would warn that documents are padded to whole windows.
    logging.getLogger("transformers.models.led.modeling_led").setLevel(logging.ERROR)
    window = 2 * max(1, block_of(config) // 2)
    return LEDForConditionalGeneration(
        LEDConfig(
            attention_window=window,
            max_encoder_position_embeddings=-(-config.source_length // window) * window,
            max_decoder_position_embeddings=config.target_length,
            **_sizes(config, vocabulary),
        )
    )


def pegasus_x(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """PEGASUS-X (Phang et al., 2022): blocks as ours, shifted by half in every other layer, and some global tokens."""
    from transformers import PegasusXConfig, PegasusXForConditionalGeneration

    return PegasusXForConditionalGeneration(
        PegasusXConfig(
            block_size=2 * max(1, block_of(config) // 2),
            num_global_tokens=GLOBAL_TOKENS,
            max_position_embeddings=config.source_length,
            **_sizes(config, vocabulary),
        )
    )


def long_t5(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """LongT5 (Guo et al., 2022) with local attention: every token sees half a block of ours to either side."""
    from transformers import LongT5Config, LongT5ForConditionalGeneration

    return LongT5ForConditionalGeneration(
        LongT5Config(
            vocab_size=vocabulary,
            d_model=config.dim,
            d_kv=config.dim // config.heads,
            d_ff=config.feed_forward,
            num_layers=len(config.encoder),
            num_decoder_layers=config.decoder.layers,
            num_heads=config.heads,
            local_radius=max(1, block_of(config) // 2 - 1),
            dropout_rate=config.dropout,
            feed_forward_proj=config.activation,
            **TOKEN_IDS,
        )
    )


def bart(config: ModelConfig, vocabulary: int) -> Any:  # noqa: ANN401
    """BART (Lewis et al., 2020) with as many positions as the longest document has: every token sees all others."""
    from transformers import BartConfig, BartForConditionalGeneration

    positions = max(config.source_length, config.target_length)
    sizes = _sizes(config, vocabulary)
    return BartForConditionalGeneration(
        BartConfig(max_position_embeddings=positions, attn_implementation="sdpa", **sizes)
    )


BUILDS: Mapping[str, Build] = {"LED": led, "PEGASUS-X": pegasus_x, "LongT5": long_t5, "BART": bart}


def block_of(config: ModelConfig) -> int:
    """Block of our model's first blockwise layer, or the default one where it has none."""
    attentions = (layer.attention for layer in config.encoder if isinstance(layer.attention, BlockwiseAttentionConfig))
    return next(attentions, BlockwiseAttentionConfig()).block


def _sizes(config: ModelConfig, vocabulary: int) -> dict[str, Any]:
    """Our sizes under the names of BART and of the models derived from it."""
    sizes: dict[str, Any] = {
        "vocab_size": vocabulary,
        "d_model": config.dim,
        "activation_function": config.activation,
        "dropout": config.dropout,
    }
    for half, layers in (("encoder", len(config.encoder)), ("decoder", config.decoder.layers)):
        sizes |= {
            f"{half}_layers": layers,
            f"{half}_attention_heads": config.heads,
            f"{half}_ffn_dim": config.feed_forward,
        }
    return sizes | TOKEN_IDS


@final
class TransformersPeer(Contender):
    """A model of transformers as a contender.

    Its weights are created when they are first needed, and freed with it. They have the precision of the conditions, in
    training too: nothing is faster for it.
    """

    def __init__(self, build: Build, config: ModelConfig, conditions: Conditions) -> None:
        self.build, self.config, self.conditions = build, config, conditions
        self.precision = NAMES[conditions.precision]

    @cached_property
    def model(self) -> Any:  # noqa: ANN401 - a type of transformers
        """The model, on the device."""
        torch.manual_seed(self.conditions.seed)
        model = self.build(self.config, self.conditions.vocabulary)
        return model.to(self.conditions.device, self.conditions.precision)

    def train(self, documents: Documents) -> None:
        """Run forward and backward of one training step."""
        self.model.train()
        output = self.model(input_ids=documents.ids, labels=documents.target, use_cache=False)
        output.loss.backward()
        self.model.zero_grad(set_to_none=True)

    def encode(self, documents: Documents) -> Tensor:
        """Encode the documents, (batch, length, dim)."""
        self.model.eval()
        with torch.inference_mode():
            states: Tensor = self.model.get_encoder()(documents.ids).last_hidden_state
        return states

    def generate(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Encode the documents and generate exactly `tokens` tokens for each: (batch, tokens)."""
        from transformers import GenerationConfig

        self.model.eval()
        settings = GenerationConfig(
            num_beams=beams,
            do_sample=False,
            use_cache=True,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            **TOKEN_IDS,
        )
        with torch.inference_mode():
            summaries: Tensor = self.model.generate(documents.ids, generation_config=settings)
        return summaries[:, 1:]  # without BOS


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

    def run(self, workload: Workload, documents: Documents, *sizes: int) -> object:
        """Run a workload in the precision that is the fastest in it.

        Raises:
            NotImplementedError: If the system does not have the workload.
        """
        if workload not in self._chosen:
            trial = (self._beams, self._tokens) if sizes else ()
            seconds: dict[str, float] = {}
            for name in self._builds:
                work = partial(self._peer(name).run, workload, self._trial, *trial)
                work()  # the first call allocates memory and selects kernels
                seconds[name] = min(clock(work, self._trial.ids.device) for _ in range(_REPEATS))
            self._chosen[workload] = min(seconds, key=seconds.__getitem__)
            self._built = {name: self._built[name] for name in {*self._chosen.values()}}
        return self._peer(self._chosen[workload]).run(workload, documents, *sizes)

    def _peer(self, name: str) -> Contender:
        if name not in self._built:
            self._built[name] = self._builds[name]()
        return self._built[name]


@final
class PeerProcess(Contender):
    """A contender whose process starts with its first workload, and ends with it."""

    def __init__(self, build: Callable[[], Contender]) -> None:
        """Prepare; `build` is called in the process, and must be importable."""
        self._pool: WorkerPool[_Call, _Answer] = WorkerPool(partial(_runner, build), 1)
        weakref.finalize(self, self._pool.close)
        self._precisions: dict[Workload, str | None] = {}
        self._device: torch.device | None = None
        self._peak: int | None = None

    def precision_of(self, workload: Workload) -> str | None:
        """Precision of a workload; None before it has run."""
        return self._precisions.get(workload)

    def peak(self, work: Work, device: torch.device) -> int | None:
        """Run `work` and return the peak memory of its workload in the process."""
        self._device = device
        try:
            work()
        finally:
            self._device = None
        return self._peak

    def run(self, workload: Workload, documents: Documents, *sizes: int) -> None:
        """Run a workload in the process.

        Raises:
            MemoryError: If the process has ended, as the kernel ends the one that takes most when memory runs out.
        """
        try:
            # No tensors: a thread of the pool would copy them with OpenMP threads of its own, and with more of those
            # than cores all threads of this process sleep between operations, which doubles the time of a step.
            parts = (documents.ids, documents.mask, documents.sentences, documents.target)
            arrays = [part.cpu().numpy() for part in parts]
            call = self._pool.submit((workload, arrays, documents.lengths, sizes, self._device))
            self._precisions[workload], self._peak = self._pool.result(call, no_op)
        except ResourceError as error:
            raise MemoryError("the process of the peer has ended") from error


def _runner(build: Callable[[], Contender]) -> Callable[[_Call], _Answer]:
    contender = build()

    def run(call: _Call) -> _Answer:
        workload, arrays, lengths, sizes, device = call
        ids, mask, sentences, target = map(torch.from_numpy, arrays)
        documents = Documents(ids, mask, sentences, target, lengths)
        work = partial(contender.run, workload, documents, *sizes)
        peak = contender.peak(work, device) if device else None
        if not device:
            work()
        return contender.precision_of(workload), peak

    return run


def _fastest(
    name: str,
    config: ModelConfig,
    conditions: Conditions,
    threads: int,
    trial: Documents,
    beams: int,
    written: int,
) -> Contender:
    """An engine in its process, where torch has one thread: it creates the weights and computes little besides."""
    torch.set_num_threads(1)
    logging.getLogger().setLevel(logging.ERROR)  # quantization recommends to pre-process the graphs
    engine = partial(GraphPeer, name) if name in RUNTIMES else CTranslate2Peer
    kinds = RUNTIMES[name][0] if name in RUNTIMES else compute_types(conditions.device)
    engines = {kind: partial(engine, config, conditions, kind, threads) for kind in kinds}
    return FastestPeer(engines, trial, beams, written)


def compute_types(device: torch.device) -> tuple[str, ...]:
    """Return the compute types of CTranslate2 that a device supports."""
    from ctranslate2 import get_supported_compute_types

    supported = get_supported_compute_types(device.type)
    return tuple(kind for kind in _COMPUTE_TYPES if kind in supported)


@final
class CTranslate2Peer(Contender):
    """BART of CTranslate2 with random weights, which are created when they are first needed, and freed with it."""

    name = "CTranslate2"

    def __init__(self, config: ModelConfig, conditions: Conditions, precision: str, threads: int) -> None:
        self.config, self.conditions, self.precision, self.threads = config, conditions, precision, threads

    @cached_property
    def translator(self) -> Any:  # noqa: ANN401 - a type of ctranslate2
        """The engine with the weights, on the device."""
        from ctranslate2 import Translator

        with TemporaryDirectory() as folder:
            self.specification().save(folder)
            return Translator(
                folder,
                device=self.conditions.device.type,
                device_index=self.conditions.device.index or 0,
                compute_type=self.precision,
                inter_threads=1,
                intra_threads=self.threads,
            )

    def generate(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Encode the documents and generate exactly `tokens` tokens for each: (batch, tokens)."""
        results = self.translator.translate_batch(
            [[str(token) for token in document] for document in documents.ids.tolist()],
            beam_size=beams,
            min_decoding_length=tokens,
            max_decoding_length=tokens,
            max_input_length=0,  # all of it
        )
        return torch.tensor([[int(token) for token in summary.hypotheses[0]] for summary in results])

    def specification(self) -> Any:  # noqa: ANN401
        """Convert a random BART, in float32."""
        from ctranslate2.converters.transformers import BartLoader

        torch.manual_seed(self.conditions.seed)
        model = bart(self.config, self.conditions.vocabulary)
        model.config.normalize_before = False  # read by the converter, and absent in transformers 5
        with torch.inference_mode():
            specification = BartLoader().get_model_spec(model)
        names = [str(token) for token in range(self.conditions.vocabulary)]
        specification.register_source_vocabulary(names)
        specification.register_target_vocabulary(names)
        specification.config.unk_token = names[UNK]
        specification.config.bos_token = specification.config.decoder_start_token = names[BOS]
        specification.config.eos_token = names[EOS]
        specification.validate()
        specification.optimize()
        return specification


@final
class GraphPeer(Contender):
    """Our graphs of a model in the shape of BART in a runtime; encoding projects the keys of cross-attention too."""

    def __init__(self, runtime: str, config: ModelConfig, conditions: Conditions, precision: str, threads: int) -> None:
        layers = (EncoderLayerConfig(attention=VanillaAttentionConfig()),) * len(config.encoder)
        decoder = DecoderConfig(layers=config.decoder.layers)
        shape = {"encoder": layers, "decoder": decoder, "output": TiedOutputConfig()}
        self.config, self.conditions = config.model_copy(update=shape), conditions
        self.name, self.precision, self.threads = runtime, precision, threads

    @cached_property
    def model(self) -> OnnxModel:
        """The graphs with their weights, which are created when they are first needed."""
        from onnxruntime.quantization import QuantType, quantize_dynamic

        torch.manual_seed(self.conditions.seed)
        with TemporaryDirectory() as name:
            folder = Path(name)
            convert(SummarizationModel(self.config, self.conditions.vocabulary).eval(), folder)
            for graph in (ENCODER, DECODER) if self.precision == "int8" else ():
                quantize_dynamic(folder / graph, folder / graph, per_channel=True, weight_type=QuantType.QInt8)
            open_session = RUNTIMES[self.name][1]
            return OnnxModel(folder, lambda path: open_session(path, str(self.precision), self.threads))

    def encode(self, documents: Documents, beams: int = 1) -> DecoderState:
        """Encode the documents."""
        return self.model.start(documents.ids, documents.mask, documents.sentences, beams, PAD)

    def generate(self, documents: Documents, beams: int, tokens: int) -> Tensor:
        """Encode the documents and generate exactly `tokens` tokens for each: (batch, tokens)."""
        lengths = [Lengths(tokens, tokens)] * len(documents.ids)
        state = self.encode(documents, beams)
        hypotheses = search(self.model.step, state, lengths, Ranking(beams), device=documents.ids.device)
        return torch.tensor([best[0].tokens for best in hypotheses])


def open_onnxruntime(path: Path, precision: str, threads: int) -> Any:  # noqa: ANN401 - a type of the runtime
    """Load a graph in ONNX Runtime."""
    from onnxruntime import InferenceSession, SessionOptions

    del precision
    options = SessionOptions()
    options.intra_op_num_threads = threads
    return InferenceSession(path, options)


def open_openvino(path: Path, precision: str, threads: int) -> SimpleNamespace:
    """Compile a graph in OpenVINO, with the interface of a session of ONNX Runtime."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # it would tell Intel of its use
    from openvino import Core

    hint = "bf16" if precision == "bfloat16" else "f32"
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": hint}
    compiled = Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()

    def describe(port: Any) -> SimpleNamespace:  # noqa: ANN401 - a type of openvino
        shape = [None if size.is_dynamic else size.get_length() for size in port.get_partial_shape()]
        return SimpleNamespace(name=port.get_any_name(), shape=shape)

    inputs, outputs = list(map(describe, compiled.inputs)), list(map(describe, compiled.outputs))

    def run(names: list[str], given: dict[str, Any]) -> list[Any]:
        found = request.infer({each.name: given[each.name] for each in inputs}, share_inputs=True)
        return [found[name] for name in names]

    return SimpleNamespace(get_inputs=lambda: inputs, get_outputs=lambda: outputs, run=run)


RUNTIMES: Mapping[str, tuple[tuple[str, ...], Callable[[Path, str, int], Any]]] = {
    "ONNX Runtime": (("float32", "int8"), open_onnxruntime),
    "OpenVINO": (("float32", "bfloat16", "int8"), open_openvino),
}
"""Precisions of a runtime of graphs, and the function that loads one by its path, precision and threads."""


def library_versions() -> dict[str, str]:
    """Versions of the installed libraries of peers, by name."""
    return {name: version(name) for name in LIBRARIES if find_spec(name)}
