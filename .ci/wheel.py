"""Install the wheel into an empty environment outside the repository and run the README's commands there.

    python .ci/wheel.py dist/sumpool-0.1.0-py3-none-any.whl [CONSTRAINTS]

CONSTRAINTS are versions for pip: by default the tested ones of constraints.txt. An empty file takes the newest ones,
and the output of `uv pip compile pyproject.toml --extra documents --resolution lowest-direct` the lowest ones that
pyproject.toml allows.

First the wheel is installed without extras, so without torch: the package is imported and summarises with `--fast`. A
file of a format that needs the extra `documents`, and an RFC, which needs the model and the extra `torch`, are refused;
the commands that the errors name are run, and both are summarised. Then every command in a ```sh block of README.md
that begins with `sumpool` runs, in order, in one empty folder; `SHORTER` makes those of a training short.
`articles.jsonl` stands for the reader's own documents. At last the scripts in `.ci/newcomers` run, in a folder each, as
people would write them who know README and documentation alone.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHORTER = {
    "sumpool train": " --set train.steps=20 --set train.validate_every=20 --set train.rouge_documents=0 "
    "--set summarize.beams=1",
    "sumpool evaluate": " --limit 10",
    "sumpool bench": " --set bench.seconds=20",
}
"""Options that are appended to commands that begin so."""
NEEDED = (
    *("dist-info/licenses/LICENSE", "dist-info/licenses/sumpool/data/sample/NOTICE"),
    *("dist-info/licenses/sumpool/shipped/NOTICE", "sumpool/py.typed"),
)
"""How names end that a wheel must hold."""

PAGE = """<!doctype html><title>Packets</title><h1>Packets</h1>
<p>Hosts send packets to gateways, and gateways forward every packet to the next network on its way.
A packet that is too long is dropped, and its sender is told so.</p>"""
EXTRAS = (
    ("documents", "sumpool summarize --evidence page.html", "Hosts send packets"),
    ("torch", "sumpool summarize rfc.txt", "Public Key Infrastructure"),
)
"""Extras that the wheel is installed without, a command that needs each, and a part of what it prints then."""


def readme_commands(text: str) -> list[str]:
    """List the `sumpool` commands of the README, in order, without comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("sumpool ")]


def shortened(command: str, shorter: Mapping[str, str] = SHORTER) -> str:
    """Append the options that keep a command short."""
    return command + "".join(options for start, options in shorter.items() if command.startswith(start))


def content_problems(wheel: Path) -> list[str]:
    """Compare the files of a wheel with those of the repository, and find links of its README that lead nowhere."""
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())
    recipes = {f"sumpool/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "recipes").rglob("*.yaml")}
    problems = [f"must hold {name}" for name in sorted(recipes - names)]
    problems += [f"must hold {end}" for end in NEEDED if not any(name.endswith(end) for name in names)]
    readme = "".join(archive.read(name).decode() for name in names if name.endswith("dist-info/METADATA"))
    problems += [f"must link to an address, got {link}" for link in re.findall(r"\]\((?!https?:)([^)]*)", readme)]
    extra = sorted(name for name in names if not re.match(r"sumpool(-[^/]*\.dist-info)?/", name))
    return problems + [f"must not hold {name}" for name in extra]


def main(wheel: Path, versions: Path = ROOT / "constraints.txt") -> int:
    """Check, install and use a wheel with versions of its dependencies."""
    problems = content_problems(wheel)
    if problems:
        print("\n".join(f"{wheel} {problem}" for problem in problems))
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        bin_folder = place / "venv" / "bin"
        install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        constraints = ["--constraint", str(versions.resolve())]
        subprocess.run([str(bin_folder / "python"), *install, *constraints, str(wheel.resolve())], check=True)
        work = place / "empty"
        work.mkdir()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment = clean | {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
        (work / "page.html").write_text(PAGE, encoding="utf-8")
        run("python -c 'import sumpool' && ! python -c 'import torch' 2>/dev/null", work, environment)
        run("sumpool sample RFC2587 > rfc.txt && sumpool summarize --fast rfc.txt", work, environment)
        for extra, command, part in EXTRAS:
            refused = run(f"{command} 2>&1 || true", work, environment)
            named = re.search(rf"pip install '(sumpool\[{extra}\])'", refused)
            if not named:
                print(f"an error must name the command that installs the extra {extra}")
                return 1
            subprocess.run([str(bin_folder / "python"), *install, *constraints, named[1]], check=True)
            if part not in run(command, work, environment):
                print(f"{command} must print {part!r} with the extra {extra}")
                return 1
        write = "sumpool prepare quickstart && cp prepared/sample/validation/texts.jsonl articles.jsonl"
        for command in (write, *map(shortened, readme_commands((ROOT / "README.md").read_text(encoding="utf-8")))):
            run(command, work, environment)
        for script in sorted((ROOT / ".ci" / "newcomers").glob("*.sh")):
            own = place / script.stem
            own.mkdir()
            shutil.copy(work / "articles.jsonl", own)
            run(script.read_text(encoding="utf-8"), own, environment | {"PIP_CONSTRAINT": str(versions.resolve())})
    return 0


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Show and run a command, and return its output."""
    print(f"$ {command}", flush=True)
    bash = ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(bash, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="", flush=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
