import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = " ".join(f"Gateway {number} forwards packets of host {number}." for number in range(40))


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("statement", ["import slow.part", "from slow import part", "import slow"])
def test_a_module_is_executed_when_it_is_used(statement: str, tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").write_text("from slow import part\n")
    (tmp_path / "slow" / "part.py").write_text("print('executed')\nvalue = 7\n")
    code = f"""
import sys
from sumpool.lazy_imports import import_lazily
sys.path.insert(0, sys.argv[1])
import_lazily(["slow.part", "slow.missing"])
{statement}
print("imported")
print(sys.modules["slow.part"].value)
"""
    assert run(code, str(tmp_path)).split() == ["imported", "executed", "7"]


def test_summaries_use_none_of_the_modules(tmp_path: Path) -> None:
    (tmp_path / "document.txt").write_text(DOCUMENT)
    code = """
import sys
import sumpool.__main__
from sumpool.lazy_imports import UNUSED_BY_INFERENCE
try:
    sumpool.__main__.main()
finally:
    print([type(sys.modules[name]).__name__ for name in UNUSED_BY_INFERENCE if name in sys.modules])
"""
    *summary, types = run(code, "summarize", str(tmp_path / "document.txt")).splitlines()
    assert summary
    assert set(types.strip("[]").split(", ")) == {"'_LazyModule'"}
