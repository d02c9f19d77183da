"""Bundled sample of the RFC series: `rfc.tar.xz`, complete and unmodified RFCs with their metadata, and `NOTICE`.

The sample is drawn from the texts of 8,000 to 32,000 bytes that the `rfc` source accepts (an abstract of at least 15
words, no revision of a held-out RFC), in the order of a hash of their number: 100 RFCs for validation, 100 for test,
and as many for training as fit into 5.8 million bytes: 1,513. The archive holds all metadata first, then the texts,
both by number, and is read without extracting it to disk (4 seconds including the cleaning).
"""
