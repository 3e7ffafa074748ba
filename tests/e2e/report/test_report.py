"""`bicrl report` in a browser: what it shows is what the run's files hold, untrusted text runs nothing, keys suffice."""
import json
import math
import sys
import tempfile
from pathlib import Path

import report_answers
from browser import Browser, find_browser
from report_run import RunMaker, make_run

from support import SKIPPED, bicrl, expect

HOSTILE = ["<script>window.ran = 1; alert(1)</script>", "</script><script>window.ran = 2</script>",
           "\"><img src=x onerror='window.ran = 3'>", "--><svg onload=window.ran=4>",
           "' onfocus='window.ran = 5' autofocus tabindex='0", "{{constructor.constructor('window.ran=6')()}}${window.ran=7}",
           "</pre></details></style><style>body{display:none}</style>",
           "<base href='https://example.invalid/'>", "<meta http-equiv=refresh content='0;url=https://example.invalid'>",
           "javascript:window.ran=8", "\u202Eevitcelfer\u2066 \u0000 \u200B", "__proto__", "&lt;b&gt;"]


def report(*words):
    code, out, err = bicrl("report", *words)
    expect(code == 0, "bicrl report succeeds", out, err)


def check_files(folder):
    """What is no run is refused, and what is half a run is shown."""
    (folder / "letter").mkdir()
    (folder / "letter" / "a.txt").write_text("x")
    for wrong in ("letter", "absent"):
        code, _, err = bicrl("report", folder / wrong, "--output", folder / "no.html")
        expect(code == 2 and wrong in err and not (folder / "no.html").exists(), f"{wrong} is refused", code, err)
    (folder / "empty").mkdir()
    report(folder / "empty", "--output", folder / "empty.html")
    expect("This folder is empty" in (folder / "empty.html").read_text(), "a page of an empty folder says so")


def check_answers(page):
    """Ten questions, of a run of which we know the answers."""
    answers = report_answers.answers(report_answers.data_of(page), "task_1")
    expected = {"which_step_found_the_fastest_kernel": ("end_to_end", 5, 0.06 / (0.06 / 3.75)),
                "how_did_the_fastest_kernel_come_about": "imitated",
                "where_did_the_reward_fall_most": ("end_to_end", 7), "why_did_the_reward_fall_there": "compile", "which_fault_grew": "race",
                "did_held_out_correctness_improve": (40 / 64, 52 / 64, False), "where_does_time_go": "waiting for verdicts"}
    for question, answer in expected.items():
        expect(answers[question] == answer, f"the page answers: {question}", answers[question], answer)
    expect(len(answers) == 10 and None not in answers.values(), "ten questions have answers", answers)


def check_points(data, run, browser):
    """Every point of the data is an entry's, and every point of a picture is the data's."""
    points = 0
    for name, chart in data["charts"].items():
        if chart["kind"] != "lines" or "key" not in chart: continue
        for series in chart["series"]:
            for row, value in zip(series["rows"], series["values"]):
                expect(run.metrics[row].get(chart["key"]) == value, f"{name}, row {row} is the entry's {chart['key']}",
                       run.metrics[row].get(chart["key"]), value)
                points += 1
            with_value = [i for i, entry in enumerate(run.metrics) if isinstance(entry.get(chart["key"]), (int, float))]
            expect(series["rows"] == with_value, f"{name} shows every step that has the figure")
    failures = data["charts"]["failures-0"]["series"]
    for series in failures:
        for row, value in zip(series["rows"], series["values"]):
            expect(run.metrics[row]["fault_classes"].get(series["label"].replace(" ", "_"), 0) == value, f"failures of row {row}",
                   series["label"])
            points += 1
    expect(points > 400, "a run has many points", points)
    drawn = browser.evaluate("""[...document.querySelectorAll('svg[data-chart]')].map((picture) => ({
        id: picture.dataset.chart, low: +picture.dataset.low, high: +picture.dataset.high,
        paths: [...picture.querySelectorAll('path.line')].map((path) => path.getAttribute('d').match(/-?[\\d.]+/g).map(Number))}))""")
    compared = 0
    for picture in drawn:
        chart = data["charts"][picture["id"]]
        if chart["kind"] != "lines": continue
        for path, series in zip(picture["paths"], chart["series"], strict=True):
            expect(path[0::2] == series["x"], f"{picture['id']}: the line's places are the data's")
            for y, value in zip(path[1::2], series["values"], strict=True):
                wanted = 190 - (value - picture["low"]) / (picture["high"] - picture["low"]) * 168
                expect(math.isclose(y, wanted, abs_tol=0.06), f"{picture['id']}: a point lies at its value", y, wanted)
                compared += 1
    expect(compared > 400, "pictures have as many points", compared)


def check_keys(data, browser, page):
    focus = "document.querySelector('svg[data-chart=\"reward_mean\"]').focus()"
    browser.evaluate(focus)
    browser.press("Home")
    browser.press("ArrowRight")
    series = data["charts"]["reward_mean"]["series"][0]
    shown = browser.evaluate("document.getElementById('tip').textContent")
    expect("end_to_end 2" in shown and f"{series['values'][1]:.3g}" in shown, "arrow keys name a point's step and value", shown,
           series["values"][1])
    browser.press("Escape")
    expect(browser.evaluate("document.getElementById('tip').hidden"), "Escape hides the tip")
    browser.press("Enter")
    opened = browser.evaluate("[...document.querySelectorAll('details.group[open]')].map((group) => +group.dataset.row)")
    expect(opened == [series["rows"][1]] or len(opened) == 1, "Enter opens one group near the step", opened)
    expect(browser.evaluate("document.activeElement.tagName") == "SUMMARY", "the focus goes to the group")
    browser.press("Enter")
    expect(browser.evaluate("document.querySelectorAll('details.group[open]').length") == 0, "Enter closes the group")
    browser.evaluate("document.querySelector('svg[data-chart=\"histogram-0\"]').focus()")
    browser.press("ArrowLeft")
    for _ in range(30): browser.press("ArrowDown")
    browser.press("Enter")
    expect("response" in browser.evaluate("document.querySelector('#chart-histogram-0 p[aria-live]').textContent"),
           "a cell lists its responses")
    # From the top by Tab alone: everything that can be used can be reached, and shows where the focus is.
    browser.open(page)
    reached = set()
    for _ in range(400):
        browser.press("Tab")
        at = browser.evaluate("(() => { const e = document.activeElement; return [e.dataset.chart || e.id || e.tagName, getComputedStyle(e).outlineStyle] })()")
        reached.add(at[0])
        expect(at[0] == "BODY" or at[1] != "none", "the focus is visible", at)
        if at[0] == "denoising-select": break
    expect({"reward_mean", "histogram-0", "group-select", "SUMMARY", "denoising-select"} <= reached, "Tab reaches every control", reached)


def check_touch(data, browser, page):
    """A tap shows the point under the finger."""
    browser.device(390, 844, is_phone=True)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.open(page)
    series = data["charts"]["reward_mean"]["series"][0]

    def tap(chart, x, y):
        """At a place of the picture, 440 by 214."""
        picture = f"document.querySelector('svg[data-chart=\"{chart}\"]')"
        browser.evaluate(f"{picture}.scrollIntoView({{block: 'center'}})")
        box = browser.evaluate(f"(({{left, top, width, height}}) => ({{left, top, width, height}}))({picture}.getBoundingClientRect())")
        browser.call("Input.synthesizeTapGesture", x=box["left"] + x / 440 * box["width"], y=box["top"] + y / 214 * box["height"],
                     gestureSourceType="touch")
    opened = "[...document.querySelectorAll('details.group[open]')].map((group) => +group.dataset.row)"
    before = browser.evaluate(opened)
    for i in (2, 6):
        tap("reward_mean", series["x"][i], 120)
        shown = browser.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        expect(f"end_to_end {i + 1}" in shown and f"{series['values'][i]:.3g}" in shown, "a tap names the point under it", shown)
        expect(browser.evaluate(opened) == before, "one tap opens no group")
    column = data["charts"]["histogram-0"]["columns"][4]
    tap("histogram-0", sum(column["x"]) / 2, 186)
    shown = browser.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    expect("end_to_end 5" in shown, "a tap shows the cell under it", shown)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.device(1280, 900)
    browser.open(page)


def check_denoising(data, browser):
    response = data["denoising"]["responses"][0]
    last = max(map(abs, response["steps"]))
    state = """({shown: [...document.querySelectorAll('#denoising-viewer .token')].map((t) => !t.classList.contains('masked')),
                text: document.querySelector('#denoising-viewer .tokens').textContent})"""
    expect(browser.evaluate(state) == {"shown": [True] * len(response["pieces"]), "text": "".join(response["pieces"])},
           "the viewer begins with the whole response")
    browser.evaluate("document.querySelector('#denoising-viewer input[type=range]').focus()")
    browser.press("Home")
    for step in range(0, last + 1):
        shown = browser.evaluate(state)["shown"]
        expect(shown == [0 < abs(s) <= step for s in response["steps"]], f"step {step} shows what was accepted until then")
        browser.press("ArrowRight")
    browser.press("Home")
    browser.evaluate("[...document.querySelectorAll('#denoising-viewer button')].find((b) => b.textContent === 'Block on').click()")
    blocks = [abs(s) for i, s in enumerate(response["steps"]) if (response["offset_in_block"] + i) // response["block_tokens"] == 0]
    expect(browser.evaluate("document.querySelector('#denoising-viewer output').textContent") == f"step {max(blocks)} of {last}",
           "Block on ends the first block")
    browser.evaluate("document.querySelector('#denoising-viewer button.primary').click()")
    browser.wait_for(f"document.querySelector('#denoising-viewer output').textContent === 'step {last} of {last}'")
    faulty = next(i for i, r in enumerate(data["denoising"]["responses"]) if "compile" in r["label"])
    browser.evaluate(f"(() => {{ const s = document.getElementById('denoising-select'); s.selectedIndex = {faulty}; s.dispatchEvent(new Event('change')) }})()")
    marked = browser.evaluate("[...document.querySelectorAll('#denoising-viewer .token.fault')].map((t) => t.textContent).join('')")
    expect("__global__" in marked, "the tokens of the fault's line are marked", marked)


def check_clean(browser, page):
    expect(browser.console == [], "the console is empty", browser.console)
    expect(browser.dialogs == [], "no dialog opens", browser.dialogs)
    expect(browser.requests == [page.resolve().as_uri()], "the page fetches nothing", browser.requests)


def check_devices(browser, page):
    for width, is_phone, scheme in ((1280, False, "light"), (390, True, "light"), (390, True, "dark"), (320, True, "light")):
        browser.device(width, 844, is_phone=is_phone, scheme=scheme)
        browser.open(page)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        expect(wide <= width, f"nothing is wider than {width} pixels", wide)
        check_clean(browser, page)
    browser.device(1280, 900, scheme="dark")
    browser.open(page)
    dark = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.device(1280, 900)
    expect(browser.evaluate("getComputedStyle(document.body).backgroundColor") != dark, "dark mode has a ground of its own")


def check_without_script(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page, "true")
    selectors = {"tables": "table", "pictures": "svg[data-chart] path", "tokens": ".token", "controls": "select"}
    shown = {name: browser.evaluate(f"document.querySelectorAll('{selector}').length") for name, selector in selectors.items()}
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    expect(shown["tables"] > 10 and shown["pictures"] > 50 and shown["tokens"] > 5 and shown["controls"] == 0,
           "tables and pictures do without a script", shown)


def check_hostile(folder, browser):
    run = RunMaker(folder / "hostile")
    for step, text in enumerate(HOSTILE, 1):
        group = [{"task": text, "outcome": "correct", "speedup": 2.0, "text": text + "\n" + text},
                 {"task": text, "outcome": text, "speedup": 0, "text": "other" + text, "diagnostics": text}]
        run.step("end_to_end", step, len(HOSTILE), [group], reward_rule=text)
        run.evaluation("end_to_end-%06d" % step, 1, 2, 1.5)
        run.line("evaluations/hostile.jsonl", {"task_id": text, "verdict": text, "technique": text, "correct": True, "speedup": 2,
                                               "program": text})
    (folder / "hostile" / "config.yaml").write_text("\n".join(HOSTILE))
    for name, words in (("hostile", [folder / "hostile"]), ("evaluated", [folder / "hostile/evaluations/hostile.jsonl"])):
        page = folder / f"{name}.html"
        report(*words, "--output", page)
        browser.open(page)
        browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        browser.evaluate("document.querySelectorAll('[tabindex], select, button, summary').forEach((each) => each.focus())")
        expect(browser.evaluate("window.ran === undefined && getComputedStyle(document.body).display !== 'none'"),
               f"nothing of {name} runs")
        check_clean(browser, page)
        foreign = browser.evaluate("document.querySelectorAll('img, iframe, base, object, embed, link, [onerror], [onload], [onfocus], [autofocus]').length")
        expect(foreign == 0, "untrusted text makes no element", foreign)
        text = browser.evaluate("document.body.innerText")
        for each in ("<script>window.ran = 1; alert(1)</script>", "<img src=x onerror='window.ran = 3'>", "&lt;b&gt;",
                     "[U+202E]evitcelfer"):
            expect(each in text, f"{name} shows it as text", each)


def main():
    if not find_browser():
        print("skipped: no Chromium is installed (launch/setup --with-tests installs Debian's)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="bicrl_report_") as temporary:
        folder = Path(temporary)
        check_files(folder)
        run = make_run(folder / "run")
        page = folder / "run.html"
        report(folder / "run", "--output", page)
        data = report_answers.data_of(page.read_text())
        check_answers(page.read_text())
        browser = Browser()
        try:
            browser.device(1280, 900)
            browser.open(page)
            check_points(data, run, browser)
            check_keys(data, browser, page)
            check_touch(data, browser, page)
            check_denoising(data, browser)
            check_clean(browser, page)
            check_devices(browser, page)
            check_without_script(browser, page)
            make_run(folder / "other", seed=2)
            both = folder / "both.html"
            report(folder / "run", folder / "other", "--output", both)
            browser.open(both)
            expect(browser.evaluate("document.querySelectorAll('svg[data-chart=\"reward_mean\"] path.line').length") == 2,
                   "two runs are two lines")
            check_clean(browser, both)
            check_hostile(folder, browser)
        finally:
            browser.close()
    print("report: points, keys, denoising, devices, comparison and hostile texts hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
