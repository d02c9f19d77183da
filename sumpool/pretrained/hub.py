"""Download of models from the Hugging Face hub.

A request with a short timeout comes first: without a network the library's own downloads retry for minutes.
"""

from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from sumpool.errors import CheckpointError, DataError, first_line
from sumpool.pretrained.tokenizer import require_no_sentencepiece
from sumpool.progress import Progress, Report

RUN_FILES = (
    *("recipe.yaml", "manifest.json", "model.safetensors", "tokenizer.model", "tokenizer.json", "vocabulary.json"),
    *("units.json", "sentences.json", "report.json", "labels.json", "ranker.safetensors", "README.md"),
)
"""Files of a run folder that was uploaded."""
_PATTERNS = (
    *("config.json", "generation_config.json", "model.safetensors", "model.safetensors.index.json"),
    *("model-*.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"),
    *("special_tokens_map.json", "added_tokens.json"),
)
"""Files that an import of another model reads."""


def fetch(name: str, report: Report) -> Path:
    """Download a model into the cache of the hub's library, unless it is there, and report every file.

    Returns:
        The folder in the cache, which is named after the model's revision.

    Raises:
        CheckpointError: If the library is not installed, the hub does not answer and the model is not in the cache, or
            it has no safetensors, or no tokenizer that can be read.
    """
    if find_spec("huggingface_hub") is None:
        raise CheckpointError(
            f"{name} must be a folder with a model, got none; to look for it on the hub, pip install 'sumpool[hub]'"
        )
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download

    try:
        info = HfApi().model_info(name, timeout=5.0)
        names = [file.rfilename for file in info.siblings or ()]
        patterns = RUN_FILES if {"recipe.yaml", "manifest.json"} <= set(names) else _PATTERNS
        wanted = [file for file in names if any(fnmatch(file, pattern) for pattern in patterns)]
        if not any(file.endswith(".safetensors") for file in wanted):
            raise CheckpointError(
                f"{name} must have model.safetensors on the hub, got {', '.join(names[:8]) or 'no files'}; "
                "take another revision of it, or convert it and import the folder"
            )
        require_no_sentencepiece(f"{name} on the hub", names)
        paths = []
        for index, file in enumerate(wanted):
            report(Progress("download", index, len(wanted), note=f"{name}: {file}"))
            paths.append(hf_hub_download(name, file, revision=info.sha))
        return Path(paths[0]).parent
    except CheckpointError:
        raise
    except DataError as error:
        raise CheckpointError(str(error)) from error
    except Exception as error:  # of the HTTP library, which differs by version
        try:
            return Path(snapshot_download(name, local_files_only=True))
        except Exception:
            raise CheckpointError(
                f"{name} must be a folder, or a model on the Hugging Face hub or in its cache, but there is no such "
                f"folder, and the hub gave: {first_line(error)}"
            ) from error
