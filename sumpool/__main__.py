"""Entry point of `python -m sumpool`, equivalent to the `sumpool` command."""

from sumpool.cli.app import main

if __name__ == "__main__":
    main()
