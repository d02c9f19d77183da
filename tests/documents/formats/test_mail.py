from email.errors import MessageError
from email.message import EmailMessage

import pytest

from sumpool.documents.document import DEFAULT_OPTIONS, ParsedDocument
from sumpool.documents.formats.mail import parse

HEADER = "From: ada@example.org\nSubject: Rain\n"


def read(body: str, header: str = "") -> ParsedDocument:
    return parse(f"{HEADER}{header}\n{body}".encode(), DEFAULT_OPTIONS)


def texts(body: str, header: str = "") -> list[str]:
    return [block.text for block in read(body, header).blocks]


def mail() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Größe"
    message["From"] = "ada@example.org"
    return message


TEXT = "It rained all day, and the river rose."
REPLY = "> Did it rain?\n>\n> Bob\n"


class TestQuotations:
    def test_quoted_replies_are_left_out(self) -> None:
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

    def test_answers_between_quotations_are_kept(self) -> None:
        body = "On 2 Nov 2026 Bob wrote:\n> Rain?\n\nYes, it rained.\n\n> Much?\n\nQuite a lot.\n"
        assert texts(body) == ["Yes, it rained.", "Quite a lot."]
        assert read(body).notes == ("2 quoted lines removed",)

    def test_sentence_with_wrote_is_kept(self) -> None:
        body = "In 1999 Bob wrote: rain is wet. It was true.\n\nSo it is."
        assert texts(body) == ["In 1999 Bob wrote: rain is wet. It was true.", "So it is."]

    def test_forwarded_mail_is_kept_without_its_header(self) -> None:
        body = f"---------- Forwarded message ---------\nFrom: Bob\nDate: Monday\nSubject: Rain\n\n{TEXT}"
        assert texts(body) == [TEXT]

    def test_mail_of_quotations_keeps_them(self) -> None:
        assert texts("> It rained.\n") == ["It rained."]
        assert read("> It rained.\n").notes == ("nothing but quotations and a signature, which are kept",)

    def test_line_that_begins_with_from_is_no_quotation(self) -> None:
        assert texts(">From here on it rained.") == ["From here on it rained."]


class TestFooters:
    def test_signatures_disclaimers_and_footers_are_left_out(self) -> None:
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

    def test_signature_behind_a_closing_is_a_notice(self) -> None:
        address = "Rain Ltd 30 Pasir Road 117440 Singapore SG - SINGAPORE C/O Rain Industries Rain Tower Block B"
        blocks = read(f"{TEXT}\n\nWith kind regards, Ada\n\nManager\n\n{address}\n\nwww.example.org\n").blocks
        assert [block.text for block in blocks if block.kind != "notice"] == [TEXT]

    def test_signature_without_a_closing_is_a_notice(self) -> None:
        blocks = read(f"{TEXT}\n\nAda Rain - Manager\n\nRain Ltd Tel. 123456 ada@example.org\n").blocks
        assert [block.text for block in blocks if block.kind != "notice"] == [TEXT]

    def test_a_question_is_no_heading(self) -> None:
        question = "Can you tell me whether it rained"
        blocks = read(f"{question}?\n\n{TEXT}\n").blocks
        assert [block.kind for block in blocks] == ["paragraph", "paragraph"]

    def test_closing_is_a_notice(self) -> None:
        blocks = read(f"{TEXT}\n\nThe end was dry and warm.\n\nMit freundlichen Grüßen\n\nAda\n").blocks
        assert [block.kind for block in blocks] == ["paragraph", "paragraph", "notice", "notice"]

    def test_frame_of_a_signed_text_is_left_out(self) -> None:
        body = (
            f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{TEXT}\n-----BEGIN PGP SIGNATURE-----\n\niQ\n"
            "-----END PGP SIGNATURE-----\n"
        )
        assert texts(body) == [TEXT]


class TestParts:
    def test_subject_is_the_title_and_attachments_are_named(self) -> None:
        message = mail()
        message.set_content(TEXT)
        message.add_attachment(b"x", maintype="image", subtype="png", filename="fluß.png")
        document = parse(message.as_bytes(), DEFAULT_OPTIONS)
        assert document.title == "Größe"
        assert document.notes == ("1 attachment left out: fluß.png",)

    def test_plain_text_is_preferred_to_html(self) -> None:
        message = mail()
        message.set_content(TEXT)
        message.add_alternative(f"<p>{TEXT} In colours.", subtype="html")
        assert [block.text for block in parse(message.as_bytes(), DEFAULT_OPTIONS).blocks] == [TEXT]

    def test_html_is_read_where_the_plain_text_is_a_stub(self) -> None:
        message = mail()
        message.set_content("This mail is HTML.")
        message.add_alternative(f"<p>{TEXT * 10}</p>", subtype="html")
        assert len(parse(message.as_bytes(), DEFAULT_OPTIONS).blocks[0].text) > 100

    def test_quotations_in_html_are_left_out(self) -> None:
        for quotation in [
            "<blockquote type=cite>Did it rain?</blockquote>",
            "<div class=gmail_quote>On Monday Bob wrote:<blockquote>Did it rain?</blockquote></div>",
            "<hr><div id=divRplyFwdMsg>From: Bob</div><p>Did it rain?</p>",
            "<p>From: Bob<br>Sent: Monday<br>To: Ada<br>Subject: Rain</p><p>Did it rain?</p>",
            "<p>Sent from my iPhone</p>",
            "<p>You received this message because you subscribed. Unsubscribe</p>",
        ]:
            message = mail()
            message.set_content(f"<p>{TEXT}</p>{quotation}", subtype="html")
            assert [block.text for block in parse(message.as_bytes(), DEFAULT_OPTIONS).blocks] == [TEXT]

    def test_enclosed_mail_is_read_where_there_is_no_text(self) -> None:
        inner, outer = mail(), mail()
        inner.set_content(TEXT)
        outer.add_attachment(inner)
        document = parse(outer.as_bytes(), DEFAULT_OPTIONS)
        assert [block.text for block in document.blocks] == [TEXT]
        assert document.notes == ("1 attachment left out: Größe",)

    def test_character_sets(self) -> None:
        for charset in ["koi8-r", "windows-1251", "utf-8", "unknown-8bit"]:
            text = "Дождь шёл весь день, и река поднялась. Потом она опустилась."
            codec = "utf-8" if charset == "unknown-8bit" else charset
            content = f"{HEADER}Content-Type: text/plain; charset={charset}\n\n".encode() + text.encode(codec)
            assert [block.text for block in parse(content, DEFAULT_OPTIONS).blocks] == [text]

    def test_bytes_of_no_character_set_are_read_all_the_same(self) -> None:
        content = f"{HEADER}\n".encode() + b"s\xfc\xdf"
        document = parse(content, DEFAULT_OPTIONS)
        assert [block.text for block in document.blocks] == ["süß"]
        assert document.notes == ("read as cp1252",)

    def test_flowed_lines_are_joined(self) -> None:
        header = "Content-Type: text/plain; format=flowed; delsp=yes\n"
        assert texts("天気は \n雨です。\n \n Indented.", header) == ["天気は雨です。", "Indented."]


PARTS = ["--\n", "-- x\nwords\n", "flowed words \n", "On 1 wrote ", "From: a\n", "On 1\n", "> ", "_", "sent from my "]
PARTS += ["> x\n\nOn 2 Nov Bob wrote:\n", "-----BEGIN PGP SIGNATURE-----\n", "mailing list "]


@pytest.mark.parametrize("length", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_repetitive_mails_are_read(length: int) -> None:
    """Patterns that go back and forth would take minutes for them."""
    for part in PARTS:
        body = f"{TEXT}\n\n{part * (length // len(part))}:\n> x"
        assert read(body).blocks, part
        assert read(body, "Content-Type: text/plain; format=flowed\n").blocks, part


class TestErrors:
    def test_encrypted_mail(self) -> None:
        for header, body in [
            ("Content-Type: multipart/encrypted; boundary=a\n", "--a\n\nx\n--a--"),
            ("Content-Type: application/pkcs7-mime; smime-type=enveloped-data\n", "x"),
            ("", "-----BEGIN PGP MESSAGE-----\n\nhQ\n"),
        ]:
            with pytest.raises(ValueError, match="must not be encrypted, got an encrypted mail"):
                read(body, header)

    def test_text_without_a_header(self) -> None:
        with pytest.raises(ValueError, match="must be a mail, got a text without a header"):
            parse(b"\nIt rained.", DEFAULT_OPTIONS)

    @pytest.mark.slow
    def test_thousands_of_levels(self) -> None:
        body = "".join(f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n" for number in range(3000))
        with pytest.raises(ValueError, match="must nest its parts less deeply"):
            parse(f"From: a@b\n{body}".encode(), DEFAULT_OPTIONS)

    def test_header_that_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise MessageError("no boundary")

        monkeypatch.setattr("sumpool.documents.formats.mail.message_from_bytes", fail)
        with pytest.raises(ValueError, match="must be a mail, got a malformed header: no boundary"):
            read(TEXT)

    def test_malformed_header(self) -> None:
        content = b"From: a@b\nContent-Type: text/plain; charset*=x'y'%ff\n\nIt rained."
        assert [block.text for block in parse(content, DEFAULT_OPTIONS).blocks] == ["It rained."]
