"""Blocks of a manual page, collected while its requests are read."""

from dataclasses import dataclass, field

from sumpool.documents.document import TextBlock, TextBlockKind
from sumpool.documents.roff.mdoc import GLUE


@dataclass
class RoffWriter:
    """Collector of blocks.

    Attributes:
        blocks: Complete blocks.
        kind: Kind of the next block.
        is_literal: Whether lines stay as they are.
    """

    blocks: list[TextBlock] = field(default_factory=list)
    kind: TextBlockKind = "paragraph"
    is_literal: bool = False
    _parts: list[str] = field(default_factory=list)
    _line: int = 0

    @property
    def size(self) -> int:
        """Number of blocks and parts so far."""
        return len(self.blocks) + len(self._parts)

    def text(self, text: str, number: int) -> None:
        """Add text to the current block, or a line to literal text."""
        if not self._parts:
            self._line = number
        self._parts.append(text)

    def end_block(self, kind: TextBlockKind = "paragraph", is_literal: bool = False) -> None:
        """End the current block and begin another one."""
        if self.is_literal:
            content = "\n".join(part.replace(GLUE, "") for part in self._parts).strip("\n")
            self._append(content, "code")
        else:
            joined = " ".join(self._parts).replace(f" {GLUE}", GLUE).replace(f"{GLUE} ", GLUE).replace(GLUE, "")
            self._append(" ".join(joined.split()), self.kind)
        self._parts = []
        self.kind, self.is_literal = kind, is_literal

    def end_line(self) -> None:
        """End a line that is not the last of its block; literal text goes on."""
        if not self.is_literal:
            self.end_block(self.kind)

    def add(self, text: str, kind: TextBlockKind, level: int, number: int) -> None:
        """Add a block of its own, behind the current one."""
        literal = self.is_literal
        self.end_block(is_literal=literal)
        self.blocks.append(TextBlock(" ".join(text.replace(GLUE, "").split()), kind, level, line=number))

    def _append(self, text: str, kind: TextBlockKind) -> None:
        if text.strip():
            level = 1 if kind == "list_item" else 0
            self.blocks.append(TextBlock(text, kind, level, line=self._line))
