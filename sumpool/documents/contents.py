"""Documents of one content: detect its format, split rows and mails, and read each document by its format."""

from collections.abc import Iterator
from io import BytesIO

from sumpool.documents.decoding import invisible_note
from sumpool.documents.detection import ROW_KINDS, detect_format
from sumpool.documents.document import Document, ParsedDocument, ReadOptions
from sumpool.documents.files import READ_ERRORS, read_limited
from sumpool.documents.formats import load_format
from sumpool.documents.sections import cut_back_matter, mark_contents
from sumpool.documents.worker import TOO_LARGE
from sumpool.errors import DataError


def documents_of(name: str, subject: str, suffix: str, content: bytes, options: ReadOptions) -> Iterator[Document]:
    """Read the documents of a content in this process; a failure is the error of a document.

    Args:
        name: Name of the content.
        subject: What messages call it.
        suffix: Suffix of its format in lower case.
        content: The content, which may be compressed.
        options: Options of reading.
    """
    yield from with_errors(name, subject, _parse(name, subject, suffix, content, options))


def _parse(name: str, subject: str, suffix: str, content: bytes, options: ReadOptions) -> Iterator[Document]:
    content = read_limited(BytesIO(content), options.limits)
    kind = detect_format(content, suffix)
    if kind in ROW_KINDS:
        from sumpool.documents.rows import row_documents

        yield from error_if_none(name, row_documents(subject, content, kind, options))
        return
    if kind == "mail":
        from sumpool.documents.mailboxes import split_mailbox

        mails = split_mailbox(content)
        for mail in mails:
            number = f":{mail.number}"
            yield from with_errors(name + number, subject + number, _one(name + number, mail.content, kind, options))
        if mails:
            return
    yield from _one(name, content, kind, options)


def error_if_none(name: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents, or one with an error if there are none."""
    first = next(documents, None)
    yield first or Document(name, "", f"{name} must hold rows, got none")
    yield from documents


def _one(name: str, content: bytes, kind: str, options: ReadOptions) -> Iterator[Document]:
    """Yield the only document of a content, without invisible characters and back matter."""
    parsed, invisible = load_format(kind).parse(content, options).visible()
    parsed = ParsedDocument(mark_contents(parsed.blocks), parsed.title, (*parsed.notes, *invisible_note(invisible)))
    document = Document.from_parsed(name, parsed)
    if not options.keep_references:
        blocks, words = cut_back_matter(document.blocks)
        if words:
            note = f"{words:,} words of references and appendices left out"
            document = Document.from_parsed(name, ParsedDocument(blocks, document.title, (*document.notes, note)))
    yield document


def with_errors(name: str, subject: str, documents: Iterator[Document]) -> Iterator[Document]:
    """Yield documents; a failure is the error of a document in place of the one that failed, the last one."""
    try:
        yield from documents
    except DataError as error:
        yield Document(name, "", str(error))
    except READ_ERRORS as error:
        yield Document(name, "", f"{subject} must be complete, got: {error}; get the file again")
    except ValueError as error:
        yield Document(name, "", f"{subject} {error}")
    except RecursionError:
        yield Document(name, "", f"{subject} must be nested less deeply, got more levels than can be read")
    except MemoryError:
        yield Document(name, "", f"{subject} {TOO_LARGE}")
