"""The bundled sample: `rfc.tar.xz`, whole and unmodified RFCs with their metadata, and `NOTICE`.

Which ones: texts of 8,000 to 32,000 bytes that the `rfc` source makes a row of (an abstract of at least 15 words, no
revision of a held-out RFC), in the order of a hash of their number: 100 for validation, 100 for test, and as many for
training as fit into 5.8 million bytes, which is 1,513. The archive holds all metadata first, then the texts, both by
number; it is read as it is, without unpacking it to the disk (4 seconds with the cleaning).

    python -m sumpool.data.sample.build FOLDER

makes the same archive from the whole series again (`README.md` says how to get it).
"""
