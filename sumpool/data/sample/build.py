"""Builds the bundled sample from the whole RFC series: python -m sumpool.data.sample.build FOLDER."""

import hashlib
import io
import lzma
import sys
import tarfile
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from sumpool.data.sources._base import SPLITS, Example
from sumpool.data.sources._rfc_series import File, series_files
from sumpool.data.sources.rfc import RfcSourceConfig, bundled_sample, split_by_number

SHORTEST = 8_000
LONGEST = 32_000
"""Bytes of a text."""
HELD_OUT = 100
"""Documents of the validation split, and of the test split."""
LARGEST_ARCHIVE = 5_800_000
"""Bytes of the archive."""
_PACKING = 6
"""Texts are packed to more than a sixth of their bytes, so that more than six times the archive is not tried."""


def build(folder: Path, sample: Path, *, held_out: int = HELD_OUT, largest: int = LARGEST_ARCHIVE) -> list[int]:
    """Write the archive, with as many training documents as fit.

    Args:
        folder: The whole series.
        sample: The archive to write.
        held_out: Documents of the validation split, and of the test split.
        largest: Bytes of the archive.

    Returns:
        The numbers of the RFCs in it.
    """
    series = _candidates(folder)
    drawn = sorted(series, key=_draw)
    held = [number for split in SPLITS[1:] for number in [n for n in drawn if split_by_number(n) == split][:held_out]]
    training = [number for number in drawn if split_by_number(number) == "train"]
    bytes_so_far = accumulate(len(text.content) for _, text in (series[number] for number in training))
    training = [number for number, size in zip(training, bytes_so_far, strict=True) if size <= _PACKING * largest]
    while True:
        numbers = sorted([*held, *training])
        content = pack([series[number] for number in numbers])
        if len(content) <= largest or not training:
            sample.write_bytes(content)
            return numbers
        # Nearly what fits in one step, and then in small ones.
        fitting = int(len(numbers) * largest / len(content)) - len(held)
        del training[max(0, min(len(training) - 1, fitting)) :]


def pack(rfcs: Iterable[tuple[File, File]]) -> bytes:
    """Put metadata and texts into an archive, the same bytes every time."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for kind, files in zip(("json", "txt"), zip(*rfcs, strict=True), strict=True):
            for file in files:
                entry = tarfile.TarInfo(f"rfc{file.number}.{kind}")
                entry.size = len(file.content)
                archive.addfile(entry, io.BytesIO(file.content))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _candidates(folder: Path) -> dict[int, tuple[File, File]]:
    """Read metadata and text of the RFCs that the sample may hold, by number."""
    rows = {row.id for row in RfcSourceConfig(path=folder).rows() if isinstance(row, Example)}
    texts = {
        file.number: file
        for file in series_files(folder, "txt")
        if f"RFC{file.number}" in rows and SHORTEST <= len(file.content) <= LONGEST
    }
    return {file.number: (file, texts[file.number]) for file in series_files(folder, "json") if file.number in texts}


def _draw(number: int) -> bytes:
    return hashlib.blake2b(str(number).encode()).digest()


if __name__ == "__main__":
    build(Path(sys.argv[1]), bundled_sample())
