"""Bytes of what `recipes/cluster/Dockerfile` installs, by extras, without building an image.

    python docs/scripts/image_sizes.py dist/sumpool-*.whl

The command of the Dockerfile installs the wheel into an empty environment, which a summary of the shipped model then
checks. The image has the files of its base and of wget besides.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "recipes" / "cluster" / "Dockerfile"
EXTRAS = ("", "serve", "ray", "documents,hub,parquet,ray,serve")
LARGEST = 4


def install_command(text: str) -> str:
    """Return the command of the Dockerfile that installs the wheel."""
    (command,) = re.findall(r"^RUN --mount=type=bind,target=/dist (.*)", text.replace("\\\n", ""), re.MULTILINE)
    return str(command)


def main(wheel: Path) -> None:
    """Print a line for each list of extras."""
    for extras in EXTRAS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            shutil.copy(wheel, place)
            shutil.copy(ROOT / "constraints.txt", place)
            venv.create(place / "python", with_pip=True)
            before = disk_bytes(place / "python")
            settings = {"EXTRAS": extras, "TORCH_INDEX": os.environ.get("TORCH_INDEX", "https://pypi.org/simple")}
            environment = {**os.environ, **settings, "PATH": f"{place / 'python' / 'bin'}:{os.environ['PATH']}"}
            environment.pop("PYTHONPATH", None)
            command = install_command(DOCKERFILE.read_text()).replace("/dist/", f"{place}/")
            subprocess.run(["sh", "-ec", f"{command} --quiet"], env=environment, check=True)
            text = "Hosts send packets to gateways. A packet that is too long is dropped."
            subprocess.run(
                ["sumpool", "summarize"],
                input=text,
                text=True,
                env=environment,
                cwd=place,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            sizes = {path.name: disk_bytes(path) for path in (place / "python").glob("lib/python*/site-packages/*")}
            largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
            parts = ", ".join(f"{name} {sizes[name] / 1e6:,.0f}" for name in largest)
            total = (disk_bytes(place / "python") - before) / 1e6
            sys.stdout.write(f"{extras or 'no extras'}: {total:,.0f} MB ({parts})\n")
            sys.stdout.flush()


def disk_bytes(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
