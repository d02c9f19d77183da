"""Text of PDF files: characters, words, lines, columns, paragraphs and their kinds."""
