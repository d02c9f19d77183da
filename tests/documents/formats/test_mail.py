import base64
from email.errors import MessageError
from email.message import EmailMessage
from time import process_time
from unittest.mock import Mock

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, Document, ParsedDocument
from sumpool.documents.formats import mail as mail_format
from sumpool.documents.formats.mail import parse, split_mailbox
from sumpool.documents.read import parse_documents

HEADER = "From: ada@example.org\nSubject: Rain\n"


def read(body: str, header: str = "") -> ParsedDocument:
    return parse(f"{HEADER}{header}\n{body}".encode(), DEFAULT_OPTIONS)


def texts(body: str, header: str = "") -> list[str]:
    return [block.text for block in read(body, header).blocks]


def kinds(body: str) -> list[str]:
    return [block.kind for block in read(body).blocks]


def mail(text: str = "", subtype: str = "plain") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Größe"
    message["From"] = "ada@example.org"
    if text:
        message.set_content(text, subtype=subtype)
    return message


def texts_of(message: EmailMessage) -> list[str]:
    return [block.text for block in parse(message.as_bytes(), DEFAULT_OPTIONS).blocks]


TEXT = "It rained all day, and the river rose."
REPLY = "> Did it rain?\n>\n> Bob\n"


def test_quoted_replies_are_left_out() -> None:
    for quotation in [
        f"On Mon, 2 Nov 2026 at 10:00, Bob <bob@example.org> wrote:\n\n{REPLY}",
        f"On Mon, 2 Nov 2026 at 10:00, Bob Long\n<bob@example.org>\nwrote:\n{REPLY}",
        f"Am 02.11.2026 um 10:00 schrieb Bob:\n{REPLY}",
        f"Am Mo., 2. Nov. 2026 um 10:00 Uhr schrieb Bob <bob@example.org>:\n\n{REPLY}",
        f"Le lun. 2 nov. 2026 à 10:00, Bob <bob@example.org> a écrit :\n{REPLY}",
        f'02.11.2026 10:00 пользователь "bob@example.org" <\nbob@example.org> написал:\n{REPLY}',
        f"Bob <bob@example.org> writes:\n{REPLY}",
        "On Mon, 2 Nov 2026, Bob <bob@example.org> wrote:\n\nDid it rain?",
        "-----Original Message-----\nFrom: Bob\nSent: Monday\nTo: Ada\nSubject: Rain\n\nDid it rain?",
        "-----Ursprüngliche Nachricht-----\nVon: Bob\n\nDid it rain?",
        "________________________________\nVon: Bob\nGesendet: Montag\nAn: Ada\nBetreff: Rain\n\nDid it rain?",
        "--- On Wed, 4/4/12, bob@example.org <bob@example.org> wrote:\n\nDid it rain?",
        "De : Bob\nEnvoyé : lundi\nÀ : Ada\nObjet : Rain\n\nDid it rain?",
    ]:
        kept = [line.strip("_") for line in texts(f"{TEXT}\n\n{quotation}")]
        assert [line for line in kept if line] == [TEXT]


LATE = "what about moving the meeting to the week after the holidays because of the rain"


def test_what_is_kept_of_a_text() -> None:
    for body, expected, notes in [
        (
            "On 2 Nov 2026 Bob wrote:\n> Rain?\n\nYes, it rained.\n\n> Much?\n\nQuite a lot.\n",
            ["Yes, it rained.", "Quite a lot."],
            ("2 quoted lines removed",),
        ),
        (f"Shall we meet?\n\nThanks\n\n{LATE}", ["Shall we meet?", "Thanks", LATE], ()),
        ("Bob Long wrote:\n \n> Rain?\n\nYes, it rained.", ["Yes, it rained."], ("1 quoted line removed",)),
        (
            "In 1999 Bob wrote: rain is wet. It was true.\n\nSo it is.",
            ["In 1999 Bob wrote: rain is wet. It was true.", "So it is."],
            (),
        ),
        (f"---------- Forwarded message ---------\nFrom: Bob\nDate: Monday\nSubject: Rain\n\n{TEXT}", [TEXT], ()),
        ("> It rained.\n", ["It rained."], ("nothing but quotations and a signature, which are kept",)),
        (">From here on it rained.", ["From here on it rained."], ()),
        (
            f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{TEXT}\n-----BEGIN PGP SIGNATURE-----\n\niQ\n"
            "-----END PGP SIGNATURE-----\n",
            [TEXT],
            (),
        ),
        ("With a = 3 see https://example.org/?id=3D&x=20.", ["With a = 3 see https://example.org/?id=3D&x=20."], ()),
        (f"begin 644 things\n\n{TEXT}", ["begin 644 things", TEXT], ()),
    ]:
        assert texts(body) == expected
        assert read(body).notes == notes


def test_a_name_within_a_sentence_is_kept() -> None:
    assert texts("Yes. Bob Long wrote:\n> Rain?\n\nYes, it rained.")[0].startswith("Yes. Bob")


def test_signatures_disclaimers_and_footers_are_left_out() -> None:
    for footer in [
        "-- \nAda Example\n+49 30 1234",
        "Sent from my iPhone",
        "Von meinem iPhone gesendet",
        "_______________________________________________\nrain mailing list\nhttps://lists.example.org/listinfo/rain",
        "To unsubscribe, send a mail to rain-request@example.org",
        "This message is confidential and intended for the recipient only.\nDelete it otherwise.",
        "Diese Nachricht ist vertraulich und nur für den Empfänger bestimmt.",
    ]:
        assert texts(f"{TEXT}\n\n{footer}\n") == [TEXT]


ADDRESS = "Rain Ltd 30 Pasir Road 117440 Singapore SG - SINGAPORE C/O Rain Industries Rain Tower Block B"


def test_closings_and_signatures_are_notices() -> None:
    for text, closing in [
        (TEXT, f"With kind regards, Ada\n\nManager\n\n{ADDRESS}\n\nwww.example.org"),
        (TEXT, "Ada Rain - Manager\n\nRain Ltd Tel. 123456 ada@example.org"),
        (f"{TEXT}\n\nThe end was dry and warm.", "Mit freundlichen Grüßen\n\nAda"),
        (f"Can you tell me whether it rained?\n\n{TEXT}", ""),
    ]:
        expected = ["paragraph"] * len(text.split("\n\n")) + ["notice"] * len(closing.split("\n\n") if closing else "")
        assert kinds(f"{text}\n\n{closing}\n") == expected


def test_subject_is_the_title_and_attachments_are_named() -> None:
    message = mail(TEXT)
    message.add_attachment(b"x", maintype="image", subtype="png", filename="fluß.png")
    document = parse(message.as_bytes(), DEFAULT_OPTIONS)
    assert document.title == "Größe"
    assert document.notes == ("1 attachment left out: fluß.png",)
    assert parse(b"From: a@x.org\nSubject: Br\xc3\xbccke\n\nShips wait.\n", DEFAULT_OPTIONS).title == "Br\u00fccke"


def test_plain_text_is_preferred_to_html_unless_it_is_a_stub() -> None:
    message = mail(TEXT)
    message.add_alternative(f"<p>{TEXT} In colours.", subtype="html")
    assert texts_of(message) == [TEXT]
    message = mail("This mail is HTML.")
    message.add_alternative(f"<p>{TEXT * 10}</p>", subtype="html")
    assert texts_of(message) == [TEXT * 10]


def test_quotations_in_html_are_left_out() -> None:
    for quotation in [
        "<blockquote type=cite>Did it rain?</blockquote>",
        "<div class=gmail_quote>On Monday Bob wrote:<blockquote>Did it rain?</blockquote></div>",
        "<hr><div id=divRplyFwdMsg>From: Bob</div><p>Did it rain?</p>",
        "<p>From: Bob<br>Sent: Monday<br>To: Ada<br>Subject: Rain</p><p>Did it rain?</p>",
        "<p>Sent from my iPhone</p>",
        "<p>You received this message because you subscribed. Unsubscribe</p>",
    ]:
        assert texts_of(mail(f"<p>{TEXT}</p>{quotation}", "html")) == [TEXT]


def test_enclosed_mail_is_read_where_there_is_no_text() -> None:
    outer = mail()
    outer.add_attachment(mail(TEXT))
    assert texts_of(outer) == [TEXT]
    assert parse(outer.as_bytes(), DEFAULT_OPTIONS).notes == ("1 attachment left out: Größe",)


@pytest.mark.parametrize("charset", ["koi8-r", "windows-1251", "utf-8", "unknown-8bit"])
def test_character_sets(charset: str) -> None:
    text = "Дождь шёл весь день, и река поднялась. Потом она опустилась."
    content = text.encode("utf-8" if charset == "unknown-8bit" else charset)
    parsed = parse(f"{HEADER}Content-Type: text/plain; charset={charset}\n\n".encode() + content, DEFAULT_OPTIONS)
    assert [block.text for block in parsed.blocks] == [text]


def test_bytes_of_no_character_set_are_read_all_the_same() -> None:
    document = parse(f"{HEADER}\n".encode() + b"s\xfc\xdf", DEFAULT_OPTIONS)
    assert [block.text for block in document.blocks] == ["süß"]
    assert document.notes == ("read as cp1252",)


def test_text_is_found_where_no_boundary_is_the_named_one() -> None:
    for subtype in ["alternative", "mixed"]:
        parts = f"--real\nContent-Type: text/plain\n\n{TEXT}\n--real--\n"
        assert texts(parts, f'Content-Type: multipart/{subtype}; boundary="other"\n') == [TEXT]
        assert texts(TEXT, f"Content-Type: multipart/{subtype}\n") == [TEXT]


@pytest.mark.parametrize("start", ['; start="<root>"', "; start=root", '; type="text/html"', ""])
def test_root_of_related_parts(start: str) -> None:
    picture = "--r\nContent-Type: image/png; name=x.png\nContent-ID: <i>\n\nAAAA\n"
    text = f"--r\nContent-Type: text/html\nContent-ID: <root>\n\n<p>{TEXT}</p>\n"
    body = picture + text if start else text + picture
    parsed = read(f"{body}--r--\n", f"Content-Type: multipart/related; boundary=r{start}\n")
    assert [block.text for block in parsed.blocks] == [TEXT]
    assert parsed.notes == ("1 attachment left out: x.png",)


def test_keys_certificates_and_encoded_files_are_code() -> None:
    for first, last in [
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: GnuPG v2\n", "-----END PGP PUBLIC KEY BLOCK-----"),
        ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"),
        ("-----BEGIN PGP MESSAGE-----\n", "-----END PGP MESSAGE-----"),
        ("begin 644 picture.png", "end"),
    ]:
        body = f"{TEXT}\n\n{first}\nHC4ruFadgGwSUdzJvuOJEg667\n{last}\n\nSo it was in the end."
        assert kinds(body) == ["paragraph", "code", "paragraph"]


BASE64 = "Content-Transfer-Encoding: base64\n"


@pytest.mark.parametrize("name", ["base64", "base64 ", "BASE64 (usual)", '"base64"', "base64;"])
def test_transfer_encoding_with_a_comment(name: str) -> None:
    body = base64.encodebytes(f"{TEXT} Größe.".encode()).decode()
    header = f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {name}\n"
    assert texts(body, header) == [f"{TEXT} Größe."]


def test_base64_in_pieces_or_with_wrong_characters() -> None:
    pieces = [base64.b64encode(part.encode()).decode() for part in (TEXT, " So it was.", " It was so!!")]
    for body in ("\n".join(pieces), "".join(pieces)):  # with padding of their own
        assert texts(body, BASE64) == [f"{TEXT} So it was. It was so!!"]
    body = base64.encodebytes(f"{TEXT} {TEXT} {TEXT}".encode()).decode()
    assert texts(f"{body[:9]}!{body[9:]}", BASE64) == [f"{TEXT} {TEXT} {TEXT}"]


@pytest.mark.parametrize("end", ["", ".", ".."])
def test_plain_footer_behind_base64(end: str) -> None:
    footer = "_" * 47 + "\nRain mailing list\nRain@example.org\nhttps://example.org/listinfo/rain\n"
    assert texts(base64.encodebytes(f"{TEXT}{end}".encode()).decode() + footer, BASE64) == [f"{TEXT}{end}"]


@pytest.mark.parametrize("name", ["quoted-printable", "quoted-printable (x)", '"Quoted-Printable"'])
def test_soft_breaks(name: str) -> None:
    header = f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {name}\n"
    body = "The people had =\nneed of gr=C3=B6=C3=9Fe boats for=20\nthem.\n"
    assert texts(body, header) == ["The people had need of gr\u00f6\u00dfe boats for them."]


def test_flowed_lines_are_joined() -> None:
    header = "Content-Type: text/plain; format=flowed; delsp=yes\n"
    assert texts("天気は \n雨です。\n \n Indented.", header) == ["天気は雨です。", "Indented."]


def test_text_that_cannot_be_read_is_refused() -> None:
    for header, body, message in [
        (
            "Content-Type: application/pkcs7-mime; smime-type=signed-data\n",
            "AAAA",
            "must hold its text in the clear, got a mail inside its S/MIME signature",
        ),
        ("Content-Type: multipart/encrypted; boundary=a\n", "--a\n\nx\n--a--", "must not be encrypted, got an"),
        ("Content-Type: application/pkcs7-mime; smime-type=enveloped-data\n", "x", "must not be encrypted, got an"),
        ("", "-----BEGIN PGP MESSAGE-----\n\nhQ\n", "must not be encrypted, got an"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(body, header)


def test_damaged_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="must be a mail, got a text without a header"):
        parse(b"\nIt rained.", DEFAULT_OPTIONS)
    malformed = b"From: a@b\nContent-Type: text/plain; charset*=x'y'%ff\n\nIt rained."
    assert [block.text for block in parse(malformed, DEFAULT_OPTIONS).blocks] == ["It rained."]
    monkeypatch.setattr(mail_format, "message_from_bytes", Mock(side_effect=MessageError("no boundary")))
    with pytest.raises(ValueError, match="must be a mail, got a malformed header: no boundary"):
        read(TEXT)


@pytest.mark.slow
def test_thousands_of_levels_are_refused() -> None:
    body = "".join(f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n" for number in range(3000))
    with pytest.raises(RecursionError):
        parse(f"From: a@b\n{body}".encode(), DEFAULT_OPTIONS)


def test_a_subject_of_many_encoded_words_is_read_in_little_time() -> None:
    start = process_time()
    parsed = parse(b"From: a@x.org\nSubject: " + b"=?utf-8?q?a?= " * 70_000 + b"\n\nShips wait.\n", DEFAULT_OPTIONS)
    assert parsed.title.startswith("aaa")
    assert process_time() - start < 2


def mail_of(number: int, answers: int | None = None, day: int | None = None, field: str = "In-Reply-To") -> str:
    link = f"{field}: <{answers}@x>\n" if answers is not None else ""
    return (
        f"From ada@example.org Mon Mar  2 10:00:00 2026\nFrom: Ada <ada@example.org>\nMessage-ID: <{number}@x>\n"
        f"Date: Mon, {day or number} Mar 2026 10:00:00 +0000\n{link}Subject: Mail {number}\n\n"
        f"This is the text of mail number {number}.\n\n>From the quay it looked small.\n\n"
    )


def read_box(content: str) -> list[Document]:
    return list(parse_documents("box", "", lambda: content.encode(), DEFAULT_OPTIONS))


@pytest.mark.parametrize("field", ["In-Reply-To", "References"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_mail_is_a_document_and_threads_stand_together(field: str, end: str) -> None:
    box = mail_of(1) + mail_of(2) + mail_of(4, 1, field=field) + mail_of(3, 1, field=field) + mail_of(5, 2, field=field)
    documents = read_box(box.replace("\n", end))
    assert [document.id for document in documents] == ["box:1", "box:4", "box:3", "box:2", "box:5"]
    assert [document.title for document in documents] == [f"Mail {number}" for number in (1, 3, 4, 2, 5)]
    for document, number in zip(documents, (1, 3, 4, 2, 5), strict=True):
        first, second = (block.text for block in document.blocks)
        assert first == f"This is the text of mail number {number}."
        assert second == "From the quay it looked small."


def test_answer_before_its_question_and_dates_that_cannot_be_read() -> None:
    box = mail_of(2, 1) + mail_of(1).replace("Date: Mon", "Date: Xyz, 99") + mail_of(7)
    assert [number for number, _ in split_mailbox(box.encode())] == [2, 1, 3]
    assert [document.title for document in read_box(box)][2] == "Mail 7"


def test_one_mail_is_no_mailbox() -> None:
    text = mail_of(1) + "A line\n\nFrom here on it rained, said Bo.\n"
    assert split_mailbox(text.encode()) == []
    (document,) = read_box(text)
    assert document.id == "box"


def test_a_damaged_mail_is_an_error_of_its_own() -> None:
    encrypted = mail_of(2).replace("Subject:", "Content-Type: multipart/encrypted; boundary=x\nSubject:")
    first, second, third = read_box(mail_of(1) + encrypted + mail_of(3))
    assert "box:2 must not be encrypted" in second.error
    assert not first.error
    assert not third.error


def test_long_mailboxes_are_split_in_linear_time() -> None:
    box = "".join(mail_of(number % 28 + 1, None, 1).replace("@x>", f".{number}@x>") for number in range(3_000))
    assert len(split_mailbox(box.encode())) == 3_000
    assert split_mailbox(b"From a\n" * 100_000) == []
