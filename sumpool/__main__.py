"""`python -m sumpool` is the same as the `sumpool` command."""

from sumpool.cli.app import main

if __name__ == "__main__":
    main()
