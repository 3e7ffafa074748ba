"""`bicrl watch`: the page of a run that goes on, for browsers of this machine that know its address alone."""
import http.client
import os
import re
import select
import signal
import subprocess
import tempfile
from pathlib import Path

from report_run import RunMaker, make_run
from browser import Browser, find_browser

from support import BINARY, bicrl, expect


def started(*words):
    process = subprocess.Popen([BINARY, "watch", *map(str, words)], stdout=subprocess.PIPE, text=True)
    expect(select.select([process.stdout], [], [], 60)[0], "the server starts within a minute")
    line = process.stdout.readline()
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n", line)
    expect(match, "the first line is the address", line)
    return process, line.strip(), int(match.group(1)), match.group(2)


def answer(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read().decode()


def check_access(port, token):
    status, headers, page = answer(port, f"/{token}/")
    expect(status == 200 and "BiC-RL report" in page, "the address gives the page", status)
    expect("default-src 'none'" in headers["Content-Security-Policy"] and "'self'" in headers["Content-Security-Policy"],
           "with a policy", headers)
    expect(headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY", "that nobody keeps or frames", headers)
    for path in ("/", "/events", f"/{token[:-1]}/", f"/{'0' * 32}/", f"/{token}", f"/{token}/../config.yaml",
                 f"/{token}/config.yaml", f"//{token}/"):
        expect(answer(port, path)[0] == 404, f"{path} is not found", answer(port, path)[0])
    for host in ("example.invalid", f"example.invalid:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "",
                 f"127.0.0.1:{port}.example.invalid"):
        expect(answer(port, f"/{token}/", Host=host)[0] in (400, 403), f"host '{host}' is refused")
    expect(answer(port, f"/{token}/", Host=f"localhost:{port}")[0] == 200, "localhost is this machine")
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        expect(answer(port, f"/{token}/", method)[0] == 405, f"{method} is refused", answer(port, f"/{token}/", method)[0])
    return page


def check_loopback(port):
    """No other address of this machine listens."""
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"]
    places = [place for place in listening if place.endswith(f":{port:04X}")]
    expect(places == [f"0100007F:{port:04X}"], "the server listens on the loopback interface alone", places)


def check_events(port, token, page, run):
    seen = version_of(page)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", f"/{token}/events?seen={seen}")
    response = connection.getresponse()
    expect(response.getheader("Content-Type") == "text/event-stream", "events are a stream", response.getheaders())
    run.step("end_to_end", 3, 9, [[{"task": "later", "outcome": "correct", "speedup": 2.0, "body": "int x;"}]])
    expect(response.readline() == b"event: changed\n", "a new step is an event")
    connection.close()


def version_of(page):
    return re.search(r'"live":"events\?seen=([0-9a-f]+)"', page).group(1)


def check_reloads(port, token, run):
    """A client that reloads on each event asks once after one change, even right after a page was made."""
    def wait_for_event(version):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/{token}/events?seen={version}")
        response, line = connection.getresponse(), b": waiting"
        while line.startswith(b":") or not line.strip():
            line = response.readline()
        connection.close()
        expect(line == b"event: changed\n", "the event is of a change", line)
    before = version_of(answer(port, f"/{token}/")[2])
    run.metric({"phase": "end_to_end", "step": 4, "steps": 9, "loss": 0.5})
    versions = [before]
    while versions[-1] == before and len(versions) < 50:
        wait_for_event(versions[-1])
        versions.append(version_of(answer(port, f"/{token}/")[2]))
    expect(len(versions) == 2, "one change is one request of the page", len(versions) - 1)


def check_browser(address, run):
    browser = Browser()
    try:
        browser.device(1280, 900)
        browser.open(address)
        expect(browser.console == [], "the console is empty", browser.console)
        browser.evaluate("window.before = true")
        run.step("end_to_end", 5, 9, [[{"task": "latest", "outcome": "correct", "speedup": 2.5, "body": "int y;"}]])
        browser.wait_for("window.before === undefined && document.documentElement?.dataset.ready === 'true'")
        browser.wait_for("document.querySelector('.masthead')?.textContent.includes('end_to_end 5')")
        # A reader who has opened something is asked.
        browser.evaluate("window.before = true; document.querySelector('#overview details').open = true")
        run.metric({"phase": "end_to_end", "step": 6, "steps": 9, "loss": 0.5})
        browser.wait_for("document.querySelector('nav button')?.textContent === 'New steps: reload'")
        expect(browser.evaluate("window.before"), "an opened part is not closed by a reload")
        browser.evaluate("document.querySelector('nav button').click()")
        browser.wait_for("document.querySelector('.masthead')?.textContent.includes('end_to_end 6')")
        # So is one who is at something by keys, at the top of the page as well.
        browser.evaluate("window.before = true; document.querySelector('nav a').focus({preventScroll: true})")
        expect(browser.evaluate("window.scrollY") == 0, "the page is at its top")
        run.metric({"phase": "end_to_end", "step": 7, "steps": 9, "loss": 0.5})
        browser.wait_for("document.querySelector('nav button')?.textContent === 'New steps: reload'")
        expect(browser.evaluate("window.before && document.activeElement.tagName === 'A'"), "the focus is not lost by a reload")
        expect(all(request.startswith(address) for request in browser.requests), "the page asks its own server alone", browser.requests)
    finally:
        browser.close()


def main():
    with tempfile.TemporaryDirectory(prefix="bicrl_watch_") as temporary:
        folder = Path(temporary)
        (folder / "letter.txt").write_text("x")
        code, _, err = bicrl("watch", folder)
        expect(code == 2 and "no run directory" in err, "what is no run is refused", code, err)
        run = RunMaker(folder / "run")
        run.warm_up(5)
        for step in (1, 2):
            run.step("end_to_end", step, 9, [[{"task": "a", "outcome": "correct", "speedup": 1.5, "body": f"int a{step};"}]])
        before = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
        process, address, port, token = started(folder / "run")
        try:
            page = check_access(port, token)
            check_loopback(port)
            expect(before == {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}, "the run is only read")
            check_events(port, token, page, run)
            check_reloads(port, token, run)
            if find_browser(): check_browser(address, run)
            else: print("left out: no Chromium is installed")
            code, _, err = bicrl("watch", folder / "run", "--port", port, timeout=60)
            expect(code == 1 and "taken" in err, "a port that is taken is named", code, err)
        finally:
            process.send_signal(signal.SIGINT)
        expect(process.wait(30) == 130, "Ctrl-C ends the server", process.returncode)
        make_run(folder / "other", steps=3)
        process, _, port, token = started(folder / "run", folder / "other")
        expect("run, other" in answer(port, f"/{token}/")[2], "several runs have one page")
        os.kill(process.pid, signal.SIGTERM)
        process.wait(30)
    print("watch: access, events and the browser hold")


main()
