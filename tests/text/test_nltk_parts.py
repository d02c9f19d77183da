"""Modules of a library without the rest of it."""

import email
import subprocess
import sys

import pytest

from sumpool.text.nltk_parts import bare


def test_packages_are_empty_within_and_as_they_were_behind() -> None:
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "email"}
    with bare("email", "email.mime"):
        from email.mime.base import MIMEBase

        assert sys.modules["email"] is not email
        assert not hasattr(sys.modules["email"], "message_from_string")
    assert MIMEBase.__name__ == "MIMEBase"
    assert {name: module for name, module in sys.modules.items() if name.split(".")[0] == "email"} == before


def test_an_unknown_package_is_refused_and_nothing_stays() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'email\.none'"), bare("email", "email.none"):
        pass
    assert sys.modules["email"] is email


def test_all_of_nltk_can_be_imported_behind_ours() -> None:
    code = (
        "import sys, sumpool.text.nltk_parts as ours\n"
        "assert 'nltk' not in sys.modules\n"
        "import nltk\n"
        "print(nltk.PorterStemmer().stem('gateways'), ours.PorterStemmer().stem('gateways'), nltk.bigrams.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["gateway", "gateway", "bigrams"]
