"""Models of other libraries in the sizes of ours; the libraries are imported only when a peer is built."""
