import pytest

from sumpool.recipe.yaml_text import MAX_DEPTH, Inline, parse, write


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    for text, value in [
        ("1e-4", 1e-4),
        ("1_000", 1000),
        ("-3", -3),
        (".5", 0.5),
        ("2.", 2.0),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("010", "010"),
        ("2024-10-10", "2024-10-10"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
    ]:
        parsed = parse(text)
        assert parsed == value
        assert type(parsed) is type(value)
        assert parse(write({"key": value})) == {"key": value}


def test_aliases_and_merges_are_copied() -> None:
    assert parse("a: &a {b: 1}\nc: {<<: *a, d: 2}") == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}
    parsed = parse("- &a {b: 1}\n- *a")
    assert isinstance(parsed, list)
    parsed[0]["b"] = 2
    assert parsed[1] == {"b": 1}


def test_anything_but_plain_data_is_refused() -> None:
    for text, message in [
        ("a: 1\nb: 2\na: 3", "line 3: 'a' occurs twice"),
        ("? [1, 2]\n: 3", "line 1: a key must be a word"),
        ("a: !!python/object/apply:os.system [ls]", r"line 1: a tag \(!...\) is not allowed"),
        ("a: !!binary aGk=", "a tag"),
        ("a: &a [*a]", r"the alias \*a contains itself"),
        ("a: *b", "found undefined alias 'b'"),
        ("[" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        ("[" * 100_000, f"nested more than {MAX_DEPTH} deep"),
        ("a: 1\n---\nb: 1", "but found another document"),
        ("a: \x00", "special characters are not allowed"),
        (f"a: {'9' * 1001}", "line 1: a number has 1001 digits, more than 1000"),
    ]:
        with pytest.raises(ValueError, match=f"must be YAML, got .*{message}"):
            parse(text)


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 10)]
    with pytest.raises(ValueError, match="line 5: there are more than 20000 values"):
        parse("\n".join(lines))


def test_long_text_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at most 200000 characters long, got 200001"):
        parse(" " * 200_001)


def test_inline_mappings_and_tuples_take_one_line() -> None:
    assert write({"a": [Inline(b=1, c=Inline(d=2))], "e": (1, 2)}) == "a:\n- {b: 1, c: {d: 2}}\ne: [1, 2]\n"
