"""Models of other libraries in the sizes of ours, to be measured beside it.

The libraries are optional, and imported only when a peer is built. Special pieces have our numbers everywhere.
"""
