"""Parts of presentations as pandoc is given them: with the notes of speakers, which it passes over, on their slides."""

import posixpath

from sumpool.documents.office.archive import DocumentArchive, local_name, part_name, serialised, value


def prepare(archive: DocumentArchive) -> dict[str, bytes]:
    """Return the parts of a presentation that pandoc is given in place of its own.

    Raises:
        ValueError: If a part is not XML; the message lacks the subject.
    """
    parts: dict[str, bytes] = {}
    for name in archive.names:
        if not name.startswith("ppt/slides/slide"):
            continue
        root = archive.xml(name)
        relations = posixpath.join(posixpath.dirname(name), "_rels", f"{posixpath.basename(name)}.rels")
        for relation in archive.xml(relations) if relations in archive.names else ():
            notes = part_name(name, value(relation, "Target"))
            if value(relation, "Type").endswith("/notesSlide") and notes in archive.names:
                next(root.iter("{*}spTree"), root).extend(
                    shape
                    for shape in archive.xml(notes).iter("{*}sp")
                    if any(local_name(part.tag) == "ph" and value(part, "type") == "body" for part in shape.iter())
                )
        parts[name] = serialised(root)
    return parts
