"""The mathematics of sumpool: pure torch, without files, YAML, tokenizer or printing.

One glossary of axes serves every docstring and every trailing comment:

    batch      documents that travel together
    length     source positions of a document, padding included
    target     positions of a summary
    dim        features of a vector
    heads      attention heads; head_dim is dim / heads
    keep       vectors that a pooling leaves
    blocks     consecutive pieces of the source, each `block` long
    sentences  sentences of a document
    vocab      pieces of the vocabulary
    beams      hypotheses that one document's search follows

Batch comes first, and inside attention the order is (batch, heads, length, head_dim). A mask is boolean and True at
real tokens, everywhere, never inverted.
"""
