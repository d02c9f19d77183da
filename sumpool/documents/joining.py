"""Several documents as one, for a digest of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from sumpool.documents.document import Document, TextBlock, document_title, opening_heading
from sumpool.documents.formats.text import text_blocks
from sumpool.errors import DataError


def join_documents(documents: Sequence[Document]) -> Document:
    """Return one document with the others as its parts.

    Each part begins with its title, the only heading of level 1. Its id is the name of its file, where no other has the
    same.

    Raises:
        DataError: If there is no document, or one could not be read or holds no text.
    """
    for document in documents:
        if not document.text.strip():
            raise DataError(document.error or f"{document.id} must hold text, got none")
    if not documents:
        raise DataError("a digest must have documents, got none")
    names = Counter(PurePath(document.id).name for document in documents)
    ids = [
        name if names[name] == 1 else document.id for document in documents for name in (PurePath(document.id).name,)
    ]
    parts = [_with_title(replace(document, id=name)) for document, name in zip(documents, ids, strict=True)]
    return Document(
        ", ".join(ids),
        "\n\n".join(part.text for part in parts),
        blocks=tuple(block for part in parts for block in part.blocks),
        notes=tuple(f"{part.id}: {note}" for part in parts for note in part.notes),
        parts=tuple(parts),
    )


def _with_title(document: Document) -> Document:
    blocks = list(document.blocks or text_blocks(document.text))
    title = document_title(document) or opening_heading(blocks) or document.id
    if opening_heading(blocks) == title:
        del blocks[next(index for index, block in enumerate(blocks) if block.text == title)]
    deeper = 2 - min((block.level for block in blocks if block.kind == "heading"), default=2)
    blocks = [replace(block, level=block.level + deeper) if block.kind == "heading" else block for block in blocks]
    blocks.insert(0, TextBlock(title, "heading", 1))
    return replace(document, text="\n\n".join(block.text for block in blocks), title=title, blocks=tuple(blocks))
