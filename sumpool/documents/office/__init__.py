"""Archives of office documents: their styles and blocks."""
