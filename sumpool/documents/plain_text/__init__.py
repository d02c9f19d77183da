"""Plain text: shapes of lines, headings and blocks."""
