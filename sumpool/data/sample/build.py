"""Build the bundled sample from the whole RFC series: `python -m sumpool.data.sample.build FOLDER`."""

import hashlib
import io
import lzma
import sys
import tarfile
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from sumpool.data.config import SPLITS, Example
from sumpool.data.rfc_texts import File, series_files
from sumpool.data.sources import RfcSourceConfig, bundled_sample, split_by_number

MIN_TEXT_BYTES = 8_000
MAX_TEXT_BYTES = 32_000
HELD_OUT_DOCUMENTS = 100
"""Documents of each of the validation and test splits."""
MAX_ARCHIVE_BYTES = 5_800_000
_MAX_COMPRESSION = 6
"""Upper bound of the compression ratio; bounds the training texts that are tried."""


def build(
    folder: Path, sample: Path, *, held_out: int = HELD_OUT_DOCUMENTS, max_bytes: int = MAX_ARCHIVE_BYTES
) -> list[int]:
    """Write the archive with as many training documents as fit.

    Returns:
        Numbers of the RFCs in the archive.
    """
    series = _candidates(folder)
    order = sorted(series, key=_digest)
    evaluation = [
        number for split in SPLITS[1:] for number in [n for n in order if split_by_number(n) == split][:held_out]
    ]
    training = [number for number in order if split_by_number(number) == "train"]
    total_bytes = accumulate(len(text.content) for _, text in (series[number] for number in training))
    training = [
        number for number, size in zip(training, total_bytes, strict=True) if size <= _MAX_COMPRESSION * max_bytes
    ]
    while True:
        numbers = sorted([*evaluation, *training])
        content = pack([series[number] for number in numbers])
        if len(content) <= max_bytes or not training:
            sample.write_bytes(content)
            return numbers
        # Approach the number that fits in one large step, then in small ones.
        fitting = int(len(numbers) * max_bytes / len(content)) - len(evaluation)
        del training[max(0, min(len(training) - 1, fitting)) :]


def pack(rfcs: Iterable[tuple[File, File]]) -> bytes:
    """Compress metadata and texts into a deterministic archive."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for kind, files in zip(("json", "txt"), zip(*rfcs, strict=True), strict=True):
            for file in files:
                entry = tarfile.TarInfo(f"rfc{file.number}.{kind}")
                entry.size = len(file.content)
                archive.addfile(entry, io.BytesIO(file.content))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _candidates(folder: Path) -> dict[int, tuple[File, File]]:
    """Return metadata and text of the RFCs eligible for the sample, by number."""
    accepted = {row.id for row in RfcSourceConfig(path=folder).rows() if isinstance(row, Example)}
    texts = {
        file.number: file
        for file in series_files(folder, "txt")
        if f"RFC{file.number}" in accepted and MIN_TEXT_BYTES <= len(file.content) <= MAX_TEXT_BYTES
    }
    return {file.number: (file, texts[file.number]) for file in series_files(folder, "json") if file.number in texts}


def _digest(number: int) -> bytes:
    return hashlib.blake2b(str(number).encode()).digest()


if __name__ == "__main__":
    build(Path(sys.argv[1]), bundled_sample())
