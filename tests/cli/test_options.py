"""Values that no option can take are refused in one line, by the name of the option, with exit code 2."""

import sys
from collections.abc import Iterator
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import pytest
from typer.models import OptionInfo

from sumpool.cli.app import COMMANDS, load_command, main
from sumpool.cli.options import choice, whole_number
from sumpool.errors import RecipeError

ARGUMENTS = {
    "import": ["model", "out"],
    "export": ["run", "out"],
    "prepare": ["a.yaml"],
    "train": ["a.yaml"],
    "sample": ["RFC1"],
    "show": ["run"],
    "init": ["data"],
}
WORDS = (str(10**30), "-1", "nan", "", "1e400", "some text", "\x1b[2J", "0x10", "9" * 5000)


def command_options() -> Iterator[tuple[str, str, object, OptionInfo]]:
    """Command, name, type and description of every option."""
    for name in COMMANDS:
        function = load_command(name)
        for parameter, hint in get_type_hints(function, include_extras=True).items():
            if get_origin(hint) is not Annotated:
                continue
            kind, info = get_args(hint)[:2]
            if isinstance(info, OptionInfo):
                names = [word for word in map(str, (info.default, *(info.param_decls or ()))) if word.startswith("--")]
                yield (name, (names or [f"--{parameter.replace('_', '-')}"])[0], kind, info)


CHECKED = sorted({(command, name) for command, name, _, info in command_options() if info.parser})


def test_numbers_and_choices_have_parsers() -> None:
    assert len(CHECKED) == 25
    for command, name, kind, info in command_options():
        assert info.parser or not {int, float} & {kind, *get_args(kind)}, (command, name)
        assert info.parser or "Literal" not in str(kind), (command, name)


REFUSED = [(command, name, WORDS[number % len(WORDS)]) for number, (command, name) in enumerate(CHECKED)]
"""One word for every option, and every word for a number and for a choice."""
REFUSED += [(*option, word) for option in (("summarize", "--limit"), ("summarize", "--mode")) for word in WORDS]


@pytest.mark.parametrize(
    ("command", "name", "word"), REFUSED, ids=[f"{command} {name}={word[:9]}" for command, name, word in REFUSED]
)
def test_values_that_make_no_sense_are_refused(
    command: str, name: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sumpool", command, *ARGUMENTS.get(command, ["-"]), f"{name}={word}"])
    with pytest.raises(SystemExit) as end:
        main()
    line = capsys.readouterr().err
    assert end.value.code == 2
    assert line.startswith("error: ")
    assert line.count("\n") == 1
    assert name in line
    assert "\x1b" not in line
    assert len(line) < 300


def test_whole_numbers_have_bounds() -> None:
    parse = whole_number("--beams", "", 1, 64).parser
    assert [parse(value) for value in ("1", "+64", 7)] == [1, 64, 7]
    with pytest.raises(RecipeError, match=r"--beams must be a whole number of at least 1 and at most 64, got '65'"):
        parse("65")


def test_choices_are_listed() -> None:
    parse = choice("--style", Literal["a", "b"], "").parser
    assert parse("b") == "b"
    with pytest.raises(RecipeError, match=r"--style must be one of a, b, got 'c'"):
        parse("c")
