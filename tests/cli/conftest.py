"""The command line in the process of the tests."""

from typer.testing import CliRunner, Result

from sumpool.cli.app import app


def run(*words: str, stdin: str | None = None) -> Result:
    """Run a command, and return its exit code, its streams and the error that ended it."""
    return CliRunner().invoke(app, words, input=stdin)
