"""Process of `sumpool bench start`: a command of sumpool, with seconds, processor seconds and peak memory by stage.

    python stages.py START [ARGUMENT ...]

START is the moment by `time.perf_counter` at which the process was started; without arguments sumpool is imported only.
Prints one JSON object instead of the command's output. It is run by its path and imports what the interpreter has
loaded, so that the import of the package counts.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

ENTERED = {
    "sumpool.documents.worker": ("reading", "Workers", "read"),
    "sumpool.inference.pipeline": ("ranking", "Pipeline", "summarize"),
    "sumpool.inference.loading": ("model", "", "load_run"),
    "sumpool.inference.model_summaries": ("model", "ModelSummaries", "__init__", "encode", "generate"),
    "sumpool.inference.rendering": ("writing", "Rendering", "render"),
    "sumpool.cli.console": ("writing", "Screen", "result"),
}
"""Stage, class and functions of a module; a stage that another one calls is not part of it."""
spent: dict[str, list[float]] = {}
_open = ["interpreter"]
_last = [0.0, 0.0]


def switch(stage: str = "") -> None:
    """Charge the stage that is open, and begin one, or go on with the one around it."""
    readers = _content(f"/proc/self/task/{os.getpid()}/children").split()
    times = (int(_content(f"/proc/{reader}/schedstat").split()[0]) / 1e9 for reader in readers)
    moment = time.perf_counter(), time.process_time() + sum(times)
    peaks = (_content(f"/proc/{process}/status").partition("VmHWM:")[2].split() for process in ("self", *readers))
    before = spent.get(_open[-1], (0.0, 0.0, 0.0))
    used = (value + now - last for value, now, last in zip(before, moment, _last, strict=False))
    spent[_open[-1]] = [*used, max(before[2], sum(1024 * int(peak[0]) for peak in peaks if peak))]
    _last[:] = moment
    _open.append(stage) if stage else _open.pop()


def _content(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123 - pathlib is not loaded
            return file.read()
    except OSError:
        return ""


def staged(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls are a stage, as is each step of an iterator that it returns."""

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of the function
        switch(stage)
        try:
            result = function(*arguments, **named)
        finally:
            switch()
        return iter(staged(stage, result.__next__), None) if hasattr(result, "__next__") else result

    return call


def importing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that imports, as a stage; the functions of `ENTERED` begin theirs from then on."""

    def call(name: str, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - those of the function
        parts = arguments[2] or () if len(arguments) > 2 else ()
        if _open[-1] == "imports" or (name in sys.modules and all(hasattr(sys.modules[name], part) for part in parts)):
            return function(name, *arguments, **named)
        result = staged("imports", function)(name, *arguments, **named)
        for module in ENTERED.keys() & sys.modules.keys():
            entered, owner, *functions = ENTERED.pop(module)
            holder = getattr(sys.modules[module], owner) if owner else sys.modules[module]
            for each in functions:
                setattr(holder, each, staged(entered, getattr(holder, each)))
        return result

    return call


def main() -> None:
    """Run the command of the arguments and print its stages."""
    _last[0] = float(sys.argv.pop(1))
    switch("command")
    sys.path[0] = __file__.rsplit(os.sep, 3)[0]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    builtins.__import__ = importing(builtins.__import__)
    importlib.import_module = importing(importlib.import_module)
    if not sys.argv[1:]:
        importlib.import_module("sumpool")
        _show(out)
        return
    program: Any = importlib.import_module("sumpool.__main__")  # as a user starts it
    commands: Any = importlib.import_module("sumpool.cli.app")
    run = commands.main

    def measured() -> None:
        try:
            run()
        except SystemExit as end:
            if not end.code:
                _show(out)  # before the process ends, which may be at once
            raise

    commands.main = measured
    program.main()


def _show(out: IO[str]) -> None:
    """Charge the last stage, and print all."""
    switch()
    import json

    print(json.dumps(spent), file=out, flush=True)


if __name__ == "__main__":
    main()
