from pathlib import Path

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, Document
from sumpool.documents.formats.mail import split_mailbox
from sumpool.documents.read import parse_documents, read_all


def mail(number: int, answers: int | None = None, day: int | None = None, field: str = "In-Reply-To") -> str:
    link = f"{field}: <{answers}@x>\n" if answers is not None else ""
    return (
        f"From ada@example.org Mon Mar  2 10:00:00 2026\nFrom: Ada <ada@example.org>\nMessage-ID: <{number}@x>\n"
        f"Date: Mon, {day or number} Mar 2026 10:00:00 +0000\n{link}Subject: Mail {number}\n\n"
        f"This is the text of mail number {number}.\n\n>From the quay it looked small.\n\n"
    )


def read(content: str) -> list[Document]:
    return list(parse_documents("box", "", lambda: content.encode(), DEFAULT_OPTIONS))


@pytest.mark.parametrize("field", ["In-Reply-To", "References"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_mail_is_a_document_and_threads_stand_together(field: str, end: str) -> None:
    box = mail(1) + mail(2) + mail(4, 1, field=field) + mail(3, 1, field=field) + mail(5, 2, field=field)
    documents = read(box.replace("\n", end))
    assert [document.id for document in documents] == ["box:1", "box:4", "box:3", "box:2", "box:5"]
    assert [document.title for document in documents] == [f"Mail {number}" for number in (1, 3, 4, 2, 5)]
    for document, number in zip(documents, (1, 3, 4, 2, 5), strict=True):
        first, second = (block.text for block in document.blocks)
        assert first == f"This is the text of mail number {number}."
        assert second == "From the quay it looked small."


def test_answer_before_its_question_and_dates_that_cannot_be_read() -> None:
    box = mail(2, 1) + mail(1).replace("Date: Mon", "Date: Xyz, 99") + mail(7)
    assert [number for number, _ in split_mailbox(box.encode())] == [2, 1, 3]
    assert [document.title for document in read(box)][2] == "Mail 7"


def test_one_mail_is_no_mailbox() -> None:
    text = mail(1) + "A line\n\nFrom here on it rained, said Bo.\n"
    assert split_mailbox(text.encode()) == []
    (document,) = read(text)
    assert document.id == "box"


def test_a_damaged_mail_is_an_error_of_its_own() -> None:
    encrypted = mail(2).replace("Subject:", "Content-Type: multipart/encrypted; boundary=x\nSubject:")
    first, second, third = read(mail(1) + encrypted + mail(3))
    assert "box:2 must not be encrypted" in second.error
    assert not first.error
    assert not third.error


def test_number_of_documents_is_not_known_before(tmp_path: Path) -> None:
    file = tmp_path / "a.mbox"
    file.write_text(mail(1) + mail(2))
    documents = read_all([str(file)])
    assert not hasattr(documents, "__len__")
    assert len(list(documents)) == 2


def test_long_mailboxes_are_split_in_linear_time() -> None:
    box = "".join(mail(number % 28 + 1, None, 1).replace("@x>", f".{number}@x>") for number in range(3_000))
    assert len(split_mailbox(box.encode())) == 3_000
    assert split_mailbox(b"From a\n" * 100_000) == []
