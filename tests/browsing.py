"""Chromium without a window, driven by its own protocol over pipes, so that no driver has to be installed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OFFLINE = ("--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND")


def chromium() -> str:
    """The browser of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found is not None, "needs Chromium: apt install chromium"
    return found


class Page:
    """A page that is open; ``complaints`` are errors of its scripts and what it writes to the console."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._count, self._rest = to, answers, 0, b""
        self.complaints: list[str] = []
        self._session: dict[str, str] = {}
        target = self.ask("Target.createTarget", url="about:blank", newWindow=True)
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer of the browser to a command of its protocol."""
        self._count += 1
        sent = {"id": self._count, "method": method, "params": parameters, **self._session}
        os.write(self._to, json.dumps(sent).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                self.complaints.append(json.dumps(message["params"]))
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]

    def open(self, address: str) -> None:
        """Go to ``address``, and wait until what its script calls ``ready`` is."""
        self.ask("Page.navigate", url=address)
        self.says("document.readyState === 'complete' ? ready : new Promise((done) => addEventListener('load', done))")
        self.says("ready.then(() => true)")

    def says(self, expression: str) -> Any:
        """The value of an expression of JavaScript, after what it promises."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key)

    def click(self, x: float, y: float) -> None:
        """Click at this place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def picture(self) -> bytes:
        """A PNG of the window."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)


@contextmanager
def browsing(profile: Path) -> Iterator[Page]:
    """A browser with one page, whose files are in the folder ``profile``."""
    theirs, to = os.pipe()
    answers, back = os.pipe()

    def as_three_and_four() -> None:
        read, write = os.dup(theirs), os.dup(back)
        os.dup2(read, 3)
        os.dup2(write, 4)

    command = [chromium(), *OFFLINE, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=as_three_and_four
    )
    os.close(theirs)
    os.close(back)
    try:
        yield Page(to, answers)
    finally:
        os.close(to)
        process.terminate()
        process.wait()
        os.close(answers)
