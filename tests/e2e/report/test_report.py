"""`bicrl report` in a browser: what it shows is what the run's files hold, untrusted text runs nothing, keys suffice."""
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import report_answers
from browser import Browser, find_browser
from picture_checks import check_points
from report_run import RunMaker, make_run
from run_files import RunFiles

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
    for refused in ("letter", "absent"):
        code, _, err = bicrl("report", folder / refused, "--output", folder / "no.html")
        expect(code == 2 and refused in err and not (folder / "no.html").exists(), f"{refused} is refused", code, err)
    (folder / "empty").mkdir()
    report(folder / "empty", "--output", folder / "empty.html")
    expect("This folder is empty" in (folder / "empty.html").read_text(), "a page of an empty folder says so")


def check_answers(page, folder, lineage, improvement):
    """Ten questions, answered by the page's data and by the run's files."""
    data, run = report_answers.data_of(page), RunFiles(folder)
    answers = report_answers.answers(data, "task_1")
    best, (before, after) = run.best_of_task("task_1"), run.largest_fall()
    least, pieces = run.least_sure_token([(r["row"], r["group"], r["sample"]) for r in data["denoising"]["responses"]])
    expected = {"which_step_found_the_fastest_kernel": (*run.place(best["row"]), best["verdict"]["eager_ms"] / best["verdict"]["candidate_ms"]),
                "how_did_the_fastest_kernel_come_about": lineage,
                "where_did_the_reward_fall_most": run.place(after), "why_did_the_reward_fall_there": run.fault_that_rose(before, after),
                "which_fault_grew": run.fault_that_grew(), "did_held_out_correctness_improve": improvement,
                "where_does_time_go": run.where_time_goes(), "which_task_is_solved_least_often": run.solved_least_often(),
                "which_response_beat_its_group_most": run.beat_its_group_most()}
    for question, answer in expected.items():
        expect(answers.pop(question) == answer, f"the page answers: {question}", answer, report_answers.answers(data, "task_1")[question])
    piece, label = answers.pop("which_token_was_the_policy_least_sure_of")
    lowest = min(min(r["log_prob_hundredths"]) for r in data["denoising"]["responses"])
    expect(least < 0 and lowest == least and piece in pieces, "the page answers: which token was the policy least sure of", piece, label, least, pieces)
    expect(not answers, "these are all the questions", answers)


def check_long_answers(folder):
    """Of a run whose curves are thinned: between its kept points the reward falls further than from any step to the next, and its
    kept steps have most of the time in waiting, all steps in generating."""
    run = RunMaker(folder / "long")
    run.warm_up(3)
    run.evaluation("warm_up", 8, 64, 1.2)
    for step in range(1, 1201):
        # Falls fastest to step 703 and every twelfth before and behind it; no two values are equal.
        speedup = 5 + 3 * math.sin(2 * math.pi * (step - 696.5) / 12) + step / 10000
        group = [{"task": f"task_{step % 9}", "outcome": "race" if step == 703 and s == 0 else "wrong_value" if s == 7 and step > 600 else "correct",
                  "speedup": speedup + s / 50, "body": f"int a{step};"} for s in range(8)]
        for each in group: each["speedup"] *= each["outcome"] == "correct"
        run.step("end_to_end", step, 1200, [group], imitation_updates=0, rollout_seconds=5.0,
                 verify_wait_seconds=40.0 if step % 15 == 0 else 0.5, step_seconds=60.0 if step % 15 == 0 else 9.0)
    run.evaluation("end_to_end", 48, 64, 1.5)
    run.state(True)
    page = folder / "long.html"
    report(folder / "long", "--output", page)
    data, files = report_answers.data_of(page.read_text()), RunFiles(folder / "long")
    curve = data["charts"]["reward_mean"]["series"][0]
    falls = [a - b for a, b in zip(curve["values"], curve["values"][1:])]
    before, after = files.largest_fall()
    expect(len(curve["rows"]) < 600 and max(falls) > 1.1 * (files.metrics[before]["reward_mean"] - files.metrics[after]["reward_mean"]),
           "the thinned curve has another largest fall", max(falls))
    kept = {s["label"]: sum(s["values"]) for s in data["charts"]["time-0"]["series"]}
    expect(max(kept, key=kept.get) != files.where_time_goes(), "the thinned times have another largest part", kept)
    check_answers(page.read_text(), folder / "long", "sampled", (8 / 64, 48 / 64, True))


def check_keys(data, browser, page, run):
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
    rows = browser.evaluate("[...document.querySelectorAll('details.group')].map((group) => +group.dataset.row)")
    nearest = min(abs(row - series["rows"][1]) for row in rows)
    expect(len(opened) == 1 and abs(opened[0] - series["rows"][1]) == nearest, "Enter opens the group nearest to the step", opened, rows)
    expect(browser.evaluate("document.activeElement.tagName") == "SUMMARY", "the focus goes to the group")
    browser.press("Enter")
    expect(browser.evaluate("document.querySelectorAll('details.group[open]').length") == 0, "Enter closes the group")
    # Every evaluation is named on the way from the first point to the last.
    browser.evaluate("document.querySelector('svg[data-chart=\"correct_rate\"]').focus()")
    browser.press("Home")
    named = ""
    for _ in data["charts"]["correct_rate"]["series"][0]["rows"]:
        named += browser.evaluate("document.getElementById('tip').textContent")
        browser.press("ArrowRight")
    labels = [mark["label"] for mark in data["charts"]["correct_rate"]["marks"]]
    expect(len(labels) == 3 and all(label in named for label in labels), "arrow keys name the evaluations", named, labels)
    browser.evaluate("document.querySelector('svg[data-chart=\"histogram-0\"]').focus()")
    browser.press("ArrowLeft")
    for _ in range(30): browser.press("ArrowDown")
    browser.press("Enter")
    row = data["charts"]["histogram-0"]["columns"][-2]["first_row"]
    failed = [r for r in run.responses if r["row"] == row and r["reward"] == 0]
    shown = browser.evaluate("document.querySelector('#chart-histogram-0 p[aria-live]').textContent")
    expect(failed and shown.startswith(f"{len(failed)} responses with a reward of 0 to "), "a cell counts its responses", shown, failed)
    kept = {(g["group"], r["sample"]) for g in data["groups"]["groups"][0] if g["row"] == row for r in g["responses"]}
    for r in failed:
        name = f"group {r['group']}, sample {r['sample']} ({r['verdict']['fault_class']})"
        expect((name in shown) == ((r["group"], r["sample"]) in kept), "a cell lists its responses", name, shown)
    for key, step in (("Home", 1), ("End", 12)):
        browser.press(key)
        shown = browser.evaluate("document.querySelector('#tip b').textContent")
        expect(shown == f"end_to_end {step}", f"{key} goes to an end of the histogram", shown)
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
    browser.evaluate("[...document.querySelectorAll('#denoising-viewer button')].find((b) => b.textContent === 'Next block').click()")
    blocks = [abs(s) for i, s in enumerate(response["steps"]) if (response["offset_in_block"] + i) // response["block_tokens"] == 0]
    expect(browser.evaluate("document.querySelector('#denoising-viewer output').textContent") == f"step {max(blocks)} of {last}",
           "Next block ends the first block")
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
    for scheme in ("light", "dark"):
        browser.device(1280, 900, scheme=scheme)
        for words in ("ink", "soft", "faint"):
            for ground in ("ground", "panel", "code"):
                found = browser.evaluate(f"""['{words}', '{ground}'].map((name) =>
                    getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim())""")
                expect(contrast(*found) >= 4.5, f"{scheme}: --{words} on --{ground} has the contrast of WCAG 2 AA", found, contrast(*found))
    browser.device(1280, 900)


def luminance(colour):
    """Of "#rrggbb", as WCAG 2 defines it."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def check_without_script(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page, "true")
    selectors = {"tables": "table", "pictures": "svg[data-chart] path", "tokens": ".token", "controls": "select"}
    shown = {name: browser.evaluate(f"document.querySelectorAll('{selector}').length") for name, selector in selectors.items()}
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    expect(shown["tables"] > 10 and shown["pictures"] > 50 and shown["tokens"] > 5 and shown["controls"] == 0,
           "tables and pictures do without a script", shown)


def check_comparison(folder, browser):
    """Of two runs, of which one has ended earlier: every value has the name of its own step."""
    make_run(folder / "other", steps=5, seed=2)
    both = folder / "both.html"
    report(folder / "run", folder / "other", "--output", both)
    data = report_answers.data_of(both.read_text())
    browser.open(both)
    expect(browser.evaluate("document.querySelectorAll('svg[data-chart=\"reward_mean\"] path.line').length") == 2, "two runs are two lines")
    check_points(data, [RunFiles(folder / "run"), RunFiles(folder / "other", 1)], browser)
    browser.evaluate("document.querySelector('svg[data-chart=\"reward_mean\"]').focus()")
    long, short = data["charts"]["reward_mean"]["series"]
    for step, key in ((12, "End"), (1, "Home"), (2, "ArrowRight")):
        browser.press(key)
        lines = browser.evaluate("[...document.querySelectorAll('#tip > *')].map((line) => line.textContent)")
        own = min(step, 5)
        label = "other" if own == step else f"other, end_to_end {own}"
        expect(lines[0] == f"end_to_end {step}" and lines[1].startswith("run") and f"{long['values'][step - 1]:.3g}" in lines[1],
               "the tip names the longer run's step", lines)
        expect(re.fullmatch(label + r"[\d.]+", lines[2]) and f"{short['values'][own - 1]:.3g}" in lines[2],
               "a value of the shorter run has the name of its step", lines, short["values"])
    check_clean(browser, both)


def check_long_page(folder, browser):
    """Thinned pictures show entries of the run too, and a column of many steps names them all."""
    page = folder / "long.html"
    data = report_answers.data_of(page.read_text())
    browser.open(page)
    check_points(data, [RunFiles(folder / "long")], browser, is_whole=False)
    browser.evaluate("document.querySelector('svg[data-chart=\"histogram-0\"]').focus()")
    browser.press("Home")
    browser.press("Enter")
    shown = browser.evaluate("document.querySelector('#chart-histogram-0 p[aria-live]').textContent")
    column = data["charts"]["histogram-0"]["columns"][0]
    steps = column["last_row"] - column["first_row"] + 1
    expect(steps > 1 and f" at end_to_end 1 to end_to_end {steps}." in shown, "the text of a cell names all steps of its column", shown, column)
    check_clean(browser, page)


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


def check_requirement():
    """The check of every change must not pass because there is no browser."""
    command = [sys.executable, "-c", "import browser; print(browser.find_browser())"]
    for wish, passes in (("", True), ("required", False)):
        found = subprocess.run(command, cwd=Path(__file__).parent, env={"PATH": "", "BICRL_BROWSER": wish}, capture_output=True, text=True)
        expect((found.returncode == 0) == passes, f"without a browser, with BICRL_BROWSER={wish}", found.stdout, found.stderr)


def main():
    check_requirement()
    if not find_browser():
        print("skipped: no Chromium is installed (launch/setup --with-tests installs Debian's)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="bicrl_report_") as temporary:
        folder = Path(temporary)
        check_files(folder)
        make_run(folder / "run")
        page = folder / "run.html"
        report(folder / "run", "--output", page)
        data = report_answers.data_of(page.read_text())
        check_answers(page.read_text(), folder / "run", "imitated", (40 / 64, 52 / 64, False))
        check_long_answers(folder)
        browser = Browser()
        try:
            browser.device(1280, 900)
            browser.open(page)
            check_points(data, [RunFiles(folder / "run")], browser)
            check_keys(data, browser, page, RunFiles(folder / "run"))
            check_touch(data, browser, page)
            check_denoising(data, browser)
            check_clean(browser, page)
            check_devices(browser, page)
            check_without_script(browser, page)
            check_comparison(folder, browser)
            check_long_page(folder, browser)
            check_hostile(folder, browser)
        finally:
            browser.close()
    print("report: points, keys, denoising, devices, comparison and hostile texts hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
