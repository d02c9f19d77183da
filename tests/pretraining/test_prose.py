import gzip
from pathlib import Path

from prose import MAX_WORDS, is_prose, is_translation, read_prose

PARAGRAPH = (
    "The scheduler keeps one queue of ready tasks for each processor, and it moves tasks from the longest queue to the "
    "shortest one whenever a processor would otherwise have nothing to do for more than a few milliseconds."
)


def page(*paragraphs: str) -> str:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"<html><head><title>Scheduling</title></head><body><main><h1>Scheduling</h1>{body}</main></body></html>"


def numbered(count: int) -> list[str]:
    return [f"In case {index}, the following is true of it. {PARAGRAPH}" for index in range(count)]


def test_prose_is_neither_code_nor_a_list_of_names() -> None:
    assert is_prose(PARAGRAPH)
    assert not is_prose("Too short a line.")
    assert not is_prose("if (task->next) { queue = task->next; } return queue->first; the end of it")
    assert not is_prose("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron")
    assert not is_prose("0x00 0x01 0x02 the of and to in 0x03 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d")


def test_paths_of_translations() -> None:
    for path in ("usr/html/de/a.html", "guide.pt_BR.html", "html/sv-SE/a.html", "html/zh_TW/a.html"):
        assert is_translation(path)


def test_paths_of_english_files() -> None:
    for path in ("usr/html/en/a.html", "usr/share/doc/it.html", "model.html", "html/index.en.html"):
        assert is_translation(path) == ("/it." in path)


def test_a_page_becomes_its_paragraphs_of_prose(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(*numbered(6), "x = y;"))
    (text,) = read_prose(file)
    assert text.title == "Scheduling"
    assert text.paragraphs == tuple(numbered(6))


def test_long_documents_are_divided_and_short_ones_dropped(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(*numbered(200)))
    parts = [len(" ".join(text.paragraphs).split()) for text in read_prose(file)]
    assert len(parts) == 2
    assert max(parts) <= MAX_WORDS
    file.write_text(page(*numbered(2)) + " " * 500)
    assert list(read_prose(file)) == []


def test_other_languages_and_indices_are_left_out(tmp_path: Path) -> None:
    german = (
        "Der Planer hält für jeden Prozessor eine Schlange bereit, und er verschiebt die Aufgaben, wenn es nötig ist."
    )
    for name, paragraphs in (("page.html", [f"Fall {index}. {german}" for index in range(20)]), ("search.html", [])):
        (tmp_path / name).write_text(page(*paragraphs, *(numbered(9) if not paragraphs else ())))
        assert list(read_prose(tmp_path / name)) == []


def test_info_files_lose_their_navigation(tmp_path: Path) -> None:
    file = tmp_path / "queue.info.gz"
    nodes = [f"\x1f\nFile: queue.info,  Node: N{index},  Up: Top\n\n{text}\n" for index, text in enumerate(numbered(6))]
    file.write_bytes(gzip.compress("".join(["preamble\n", *nodes, "\x1f\nTag Table:\nNode: N0\n"]).encode()))
    (text,) = read_prose(file)
    assert text.paragraphs == tuple(numbered(6))


def test_pod_is_read_as_a_manual_page(tmp_path: Path) -> None:
    file = tmp_path / "queue.pod"
    paragraphs = "\n\n".join(numbered(6))
    file.write_text(f"=head1 NAME\n\nqueue - queues of tasks\n\n=head1 DESCRIPTION\n\n{paragraphs}\n\n=cut\n")
    (text,) = read_prose(file)
    assert text.paragraphs == tuple(numbered(6))
