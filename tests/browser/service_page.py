"""The page of a running service, as a user of a browser operates it."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from sumpool.io.manifest import SHIPPED
from tests.browser.conftest import Browser

TEXT = """\
A router forwards packets between networks. It keeps a table of routes, and every route names the next router on the \
way to a destination. When a link fails, the routers beside it tell their neighbours, which compute other routes.

This document describes a protocol for the exchange of routes between routers of one provider. Routers send the whole \
table when they start, and afterwards only what has changed. Messages are acknowledged, so that no change is lost. A \
router that hears nothing from a neighbour for 90 seconds deletes the routes that it has learnt from it.

The protocol has no authentication of its own. Messages are accepted from the addresses of configured neighbours only, \
and links between sites must be protected by other means. Experience with 40 routers shows that tables agree within \
two seconds after a failure.
"""
PROCESSES = """\
Whole or sharded

| `train.parallel` | each process holds | engine |
|---|---|---|
| `ddp` | whole weights, gradients and moments | `DistributedDataParallel` |
| `fsdp` | an n-th of them between updates; whole weights and gradients during one | FSDP2 (`fully_shard`) |
| `auto` | as `fsdp` where four times the weights exceed half of the memory, else as `ddp` | |

Both send as much: `fsdp` gathers the weights once in an update and scatters the gradients once, after all
batches of the process."""
"""A text about which the shipped model writes what it does not say."""
SETTINGS = ("--set", "summarize.factuality=any", "--set", "summarize.mbr=false")
"""Settings with which abstractive summaries are written, not copied."""
OBSERVER = """
window.alerts = [];
new MutationObserver(() => alerts.push(document.querySelector('[role=alert]').textContent))
    .observe(document.querySelector('[role=alert]'), {childList: true, characterData: true, subtree: true});
"""
DROP = """
const transfer = new DataTransfer();
for (const [name, text] of JSON.parse(arguments[0])) transfer.items.add(new File([text], name));
for (const kind of ['dragover', 'drop']) {
    const event = new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: transfer});
    document.querySelector('header').dispatchEvent(event);
    if (!event.defaultPrevented) return 'the browser would open the file';
    if (kind == 'dragover' && !document.body.classList.contains('over')) return 'the place is not marked';
}
return document.body.classList.contains('over') ? 'the place is still marked' : '';
"""


@dataclass(frozen=True)
class Service:
    """A running service."""

    address: str
    process: "subprocess.Popen[str]"

    def ask(self, text: str, **options: object) -> dict[str, Any]:
        """Answer of the API for a text."""
        return self._post(json.dumps({"text": text, **options}), "application/json")

    def ask_file(self, content: str) -> dict[str, Any]:
        """Answer of the API for a file."""
        return self._post(content, "application/octet-stream")

    def _post(self, body: str, kind: str) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.address}v1/summaries", body.encode(), {"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return cast("dict[str, Any]", json.load(answer)["summaries"][0])

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the service answer nothing within the block."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def serving(*options: str) -> Iterator[Service]:
    """Run `sumpool serve` with the shipped model on a free port."""
    command = [sys.executable, "-m", "sumpool", "serve", "--model", str(SHIPPED), "--port", "0", *SETTINGS, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            address = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/)\n", line)
            assert address, line
            yield Service(address[1], process)
        finally:
            process.kill()


class Page:
    """The page of a service in a browser."""

    def __init__(self, browser: Browser, service: Service, *, dark: bool = False, width: int = 1280) -> None:
        self.browser = browser
        self.service = service
        browser.visit(service.address, dark=dark, width=width)
        browser.run(OBSERVER)

    def element(self, selector: str) -> Any:  # noqa: ANN401
        """The first element of a selector."""
        return self.browser.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """Texts of all elements of a selector, whether they are visible or not."""
        script = "return [...document.querySelectorAll(arguments[0])].map(element => element.textContent)"
        return cast("list[str]", self.browser.run(script, selector))

    def paste(self, text: str) -> None:
        """Put a text into the field at once, as pasting does."""
        script = "arguments[0].select(); document.execCommand('insertText', false, JSON.parse(arguments[1]))"
        self.browser.run(script, self.element("#text"), json.dumps(text))  # lone surrogates are escaped twice

    def set_length(self, value: int, unit: str) -> None:
        """Choose a length."""
        self.choose("length", "exact")
        self.element("#amount").clear()
        self.element("#amount").send_keys(str(value))
        self.choose("unit", unit)

    def choose(self, name: str, value: str) -> None:
        """Choose an option by its value."""
        options = self.element(f"#{name}").find_elements("css selector", "option")
        next(option for option in options if option.get_property("value") == value).click()

    def drop(self, *files: tuple[str, str]) -> None:
        """Drop files, each a name and a text, on the head of the page."""
        assert self.browser.run(DROP, json.dumps(files)) == ""

    def submit(self) -> None:
        """Press the button, and wait for nothing."""
        self.element("form button:not([type])").click()

    def summarise(self) -> str:
        """Press the button; return the text of the first summary."""
        self.submit()
        self.until_ready()
        return self.texts("#summaries .text")[0]

    def until_ready(self) -> None:
        """Wait for all summaries."""
        self.browser.until(lambda: self.element("#status").text.endswith("ready.") or self.error())
        assert not self.error()

    def error(self) -> str:
        """Message that is announced as an alert; empty if there is none."""
        find = "const alert = document.querySelector('#error[role=alert]');"
        text, is_visible = self.run(f"{find} return [alert.innerText, alert.checkVisibility()]")
        assert is_visible == bool(text)
        return cast("str", text)

    def fail(self) -> str:
        """Press the button; return the error."""
        self.submit()
        return cast("str", self.browser.until(self.error))

    def open_evidence(self) -> None:
        """Open the evidence of the first summary."""
        self.element("details > summary").click()
        self.browser.until(lambda: self.texts(".source mark"))

    def run(self, script: str) -> Any:  # noqa: ANN401
        """Run a script in the page."""
        return self.browser.run(script)

    def press(self, *keys: str) -> str:
        """Press keys, modifiers with the next one; return the focused element, whose focus must be visible."""
        from selenium.webdriver import ActionChains, Keys

        actions = ActionChains(self.browser.driver)
        for key in keys:
            (actions.key_down if key == Keys.SHIFT else actions.send_keys)(key)
        actions.key_up(Keys.SHIFT).perform()
        outline = self.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", self.focused()
        return self.focused()

    def focused(self) -> str:
        """Id, role or name of the focused element."""
        return cast("str", self.run("const e = document.activeElement; return e.id || e.role || e.localName"))
