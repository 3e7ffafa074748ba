"""A headless Chromium, driven by its DevTools protocol over a pipe: for tests of pages, without a driver or a port."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def find_browser():
    """Chromium's path, or None; without one, BICRL_BROWSER=required makes that an error."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not path and os.environ.get("BICRL_BROWSER") == "required":
        raise RuntimeError("no Chromium is installed (launch/setup --with-tests installs Debian's), and BICRL_BROWSER=required")
    return path


class Browser:
    """One page at a time. Keeps what the page writes to its console, and every request that it makes."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bicrl_browser_", ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()
        # The program reads from descriptor 3 and writes to 4.
        command = f'exec 3<&{ours[0]} 4>&{theirs[1]}; exec "$@"'
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars",
                 "--disable-background-networking",
                 "--disable-component-update", "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium has none for root
        self.process = subprocess.Popen(["bash", "-c", command, "bash", find_browser(), *flags, "about:blank"],
                                        pass_fds=(ours[0], theirs[1]),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(ours[0])
        os.close(theirs[1])
        self.writer, self.reader = ours[1], theirs[0]
        self.buffer, self.next_id, self.session = b"", 0, None
        self.console, self.requests, self.dialogs = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # its helpers write to the folder as well
        self.process.wait()
        os.close(self.writer)
        os.close(self.reader)
        self.folder.cleanup()

    def receive(self, seconds):
        while b"\0" not in self.buffer:
            if not select.select([self.reader], [], [], seconds)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.console.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.console.append(f"{parameters['type']}: {parameters['args']}")
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.console.append(f"{parameters['entry']['level']}: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])

    def call(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        while True:
            answer = self.receive(120)
            self.note(answer)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def open(self, page, condition="document.documentElement.dataset.ready === 'true'"):
        """Opens a file or an address, and waits until the condition holds."""
        self.console, self.requests, self.dialogs = [], [], []
        self.call("Page.navigate", url=Path(page).resolve().as_uri() if "://" not in str(page) else str(page))
        self.wait_for(f"document.readyState === 'complete' && ({condition})")

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} within {seconds} s; console: {self.console}")
            time.sleep(0.05)

    def press(self, key, code=None, text=None):
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9, "Escape": 27, "Home": 36,
                 "End": 35, " ": 32}
        text = text or {"Enter": "\r", " ": " "}.get(key)
        common = {"key": key, "code": code or ("Space" if key == " " else key), "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def device(self, width, height, scale=1, is_phone=False, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=is_phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def screenshot(self, file, whole_page=False):
        options = {"captureBeyondViewport": whole_page}
        if whole_page:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        Path(file).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))
