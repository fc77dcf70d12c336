"""Chromium without a window, over its debugging protocol (https://chromedevtools.github.io/devtools-protocol), for tests."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile

PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
# No request leaves the machine: a page that makes one is to fail here as it would without a network.
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
         "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]  # fmt: skip
LONGEST_SILENCE = 120  # seconds; only a browser that hangs needs as many


def program():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page of a browser. One thread at a time."""

    def __init__(self, commands, answers):
        """`commands` and `answers` are pipes: messages of JSON, each with a zero byte behind it."""
        self.commands, self.answers, self.received = commands, answers, b""
        self.calls, self.session, self.events = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.received:
            if not select.select([self.answers], [], [], LONGEST_SILENCE)[0]:
                raise RuntimeError("the browser has stopped answering")
            if not (more := os.read(self.answers, 1 << 16)):
                raise RuntimeError("the browser has ended")
            self.received += more
        text, _, self.received = self.received.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **parameters):
        """Waits for the answer; events that come meanwhile are kept in `events`."""
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.calls:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, url, width=1280, height=900, scheme="light"):
        """Loads a page, with its pictures, in a window of so many pixels and a colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def evaluate(self, script):
        """The value of an expression in the page, or what the promise that it is comes to."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def requested(self):
        """The addresses that the page has asked for."""
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def errors(self):
        """What failed while the page was loaded: exceptions of scripts, files that are not there."""
        described = {"Runtime.exceptionThrown": lambda parameters: parameters["exceptionDetails"], "Network.loadingFailed": dict}
        return [described[event["method"]](event["params"]) for event in self.events if event["method"] in described]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def started():
    """A browser, which ends with the block."""
    commands, answers = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser reads from descriptor 3 and writes to 4.
        redirected = ["bash", "-c", f'exec "$@" 3<&{commands[0]} 4>&{answers[1]}', "bash", program(), *FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(redirected, pass_fds=(commands[0], answers[1]), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(commands[0])
        os.close(answers[1])
        try:
            yield Browser(commands[1], answers[0])
        finally:
            process.kill()
            process.wait()
            os.close(commands[1])
            os.close(answers[0])
