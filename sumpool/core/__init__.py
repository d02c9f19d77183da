"""Models, decoding and their building blocks in PyTorch: no files, YAML, tokenizer or printing.

Axes in docstrings and trailing comments:

    batch      documents of a batch
    length     source positions of a document, padding included
    target     positions of a summary
    dim        features of a state
    heads      attention heads; head_dim is dim / heads
    keep       states after a pooling
    blocks     consecutive parts of the source of `block` tokens each
    sentences  sentences of a document
    vocab      tokens of the vocabulary
    beams      hypotheses of a document's search

Batch comes first, and inside attention the order is (batch, heads, length, head_dim). A mask is boolean and True at
real tokens, everywhere, never inverted.
"""
