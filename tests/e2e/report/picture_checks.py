"""Figures of a page against the files of its runs, and its pictures against those figures."""
import math
import re
import struct

from support import expect

GAP = 1.2  # behind wide bars; coordinates have one digit behind the point


def stacked_bars(path):
    """Left, width, bottom and height of each bar of a path "M.. ..h..v-..h-..z"."""
    bars = re.findall(r"M(\S+) (\S+?)h(\S+?)v(-?[\d.]+)h-[\d.]+z", path)
    return [(float(left), float(width), float(bottom), -float(height)) for left, bottom, width, height in bars]


def check_stack(picture, chart):
    """Bars lie on top of each other, each is as high as its value, and together they are as wide as the picture."""
    unit = 168 / (picture["high"] - picture["low"])
    rows = len(chart["series"][0]["rows"])
    below, places = [0.0] * rows, {}
    compared = 0
    for path, series in zip(picture["bars"], chart["series"], strict=True):
        bars = stacked_bars(path)
        shown = [i for i, value in enumerate(series["values"]) if value > 0]
        expect(len(bars) == len(shown), f"{picture['id']}: a bar for each value of {series['label']}", len(bars), len(shown))
        for (left, width, bottom, height), i in zip(bars, shown, strict=True):
            expect(left - 0.15 <= series["x"][i] <= left + width + GAP + 0.15, f"{picture['id']}: a bar lies at its step", left, width, series["x"][i])
            expect(math.isclose(height, series["values"][i] * unit, abs_tol=0.06), f"{picture['id']}: a bar is as high as its value", height,
                   series["values"][i] * unit)
            expect(math.isclose(bottom, 190 - below[i] * unit, abs_tol=0.06), f"{picture['id']}: a bar lies on those below", bottom, below[i] * unit)
            expect(places.setdefault(i, (left, width)) == (left, width), f"{picture['id']}: the bars of a step lie on top of each other", left, width)
            below[i] += series["values"][i]
            compared += 1
    for i, (left, width) in places.items():
        end = places[i + 1][0] if i + 1 in places else 432 if i + 1 == rows else None
        expect(end is None or -0.35 <= end - (left + width) <= GAP + 0.15, f"{picture['id']}: a bar is as wide as its step", left, width, end)
    expect(0 not in places or places[0][0] == 50, f"{picture['id']}: the first bar begins at the axis", places.get(0))
    return compared


def check_histogram(picture, chart, run):
    """The cells' counts are those of responses.jsonl, and what is drawn is the cells with responses."""
    bins = len(chart["columns"][0]["counts"])
    height = (chart["high"] - chart["low"]) / bins
    drawn = set()
    for column in chart["columns"]:
        rewards = [r["reward"] for r in run.responses if column["first_row"] <= r["row"] <= column["last_row"] and not r["masked"]]
        counts = [0] * bins
        # The page's rewards have the precision of 32 bits.
        for reward in rewards: counts[max(0, min(bins - 1, int((single(reward) - chart["low"]) / (chart["high"] - chart["low"]) * bins)))] += 1
        expect(column["counts"] == counts, f"counts of rows {column['first_row']} to {column['last_row']}", column["counts"], counts)
        drawn |= {(round(column["x"][0], 1), round(190 - (chart["low"] + height * (b + 1) - picture["low"])
                                                   / (picture["high"] - picture["low"]) * 168)) for b in range(bins) if counts[b]}
    found = {(round(x, 1), round(y)) for x, y in picture["cells"]}
    expect(len(picture["cells"]) == len(drawn) and all(any(x == a and abs(y - b) <= 1 for a, b in drawn) for x, y in found),
           "a cell is drawn for each count", len(drawn), len(picture["cells"]))
    expect(sum(map(sum, (c["counts"] for c in chart["columns"]))) == sum(not r["masked"] for r in run.responses), "every response is counted once")


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def check_series(chart, name, values_of, run, is_whole):
    """Every value of a series is the one that `values_of` finds in the entry of its row; None is none. Returns how many there are."""
    points = 0
    for series in (s for s in chart["series"] if s["run"] == run.number):
        values = [values_of(entry, series["label"]) for entry in run.metrics]
        for row, value in zip(series["rows"], series["values"], strict=True):
            same = values[row] is not None and math.isclose(values[row], value, rel_tol=1e-12, abs_tol=1e-12)
            expect(same, f"{name}, row {row}: {series['label']} is the entry's", values[row], value)
            points += 1
        with_value = [row for row, value in enumerate(values) if value is not None]
        expect(series["rows"] == with_value or (not is_whole and set(series["rows"]) < set(with_value)), f"{name} shows every step that has the figure")
    return points


TIME_PARTS = {"generating": "rollout_seconds", "waiting for verdicts": "verify_wait_seconds", "training": "train_seconds",
              "waiting for checkpoints": "checkpoint_stall_seconds"}


def time_of(entry, label):
    parts = {name: entry.get(key, 0) for name, key in TIME_PARTS.items()}
    return parts[label] if label in parts else max(0, entry["step_seconds"] - sum(parts.values()))


def groups_of(entry, label):
    if "groups" not in entry: return None
    few, equal = entry["too_few_groups"], entry["zero_variance_groups"]
    return {"teach: rewards differ": entry["groups"] - equal - few, "all rewards equal": equal, "fewer than two count": few}[label]


def fault_of(entry, label):
    return entry["fault_classes"].get(label.replace(" ", "_"), 0) if "responses" in entry else None


def check_marks(chart, key, run, prefix):
    """The evaluations on a curve are those of the files, each behind its step."""
    marks = {mark["label"].removeprefix(prefix).split(":")[0]: mark for mark in chart["marks"] if mark["label"].startswith(prefix)}
    expected = {name: rates[key] for name, rates in run.evaluations().items() if key in rates}
    expect(marks.keys() == expected.keys(), f"{key} has the run's evaluations", marks, expected)
    places = next(dict(zip(s["rows"], s["x"])) for s in chart["series"] if s["run"] == run.number)
    for name, mark in marks.items():
        expect(math.isclose(mark["value"], expected[name]), f"{key}, {name} is that of its file", mark["value"], expected[name])
        expect(mark["low"] <= mark["value"] <= mark["high"], "an interval holds its value", mark)
        row = run.row_of_evaluation(name)
        before = [x for at, x in places.items() if at <= row]
        behind = [x for at, x in places.items() if at > row]
        expect(max(before, default=50) <= mark["x"] <= min(behind, default=432), f"{key}, {name} lies behind its step", mark, row)
    return len(marks)


def check_points(data, runs, browser, is_whole=True):
    """Every point of the data is an entry's, and every point of a picture is the data's. Thinned curves lack some entries."""
    points = marks = 0
    for name, chart in data["charts"].items():
        if chart["kind"] != "lines" or "key" not in chart: continue
        for run in runs:
            points += check_series(chart, name, lambda entry, _: entry.get(chart["key"]), run, is_whole)
            if chart["marks"]: marks += check_marks(chart, chart["key"], run, f"{run.name}, " if len(runs) > 1 else "")
    expect(marks >= 4 * len(runs), "curves have evaluations", marks)
    for run in runs:
        for name, values_of in (("terms", lambda entry, label: entry.get("reward_terms", {}).get(label.replace(" ", "_"))),
                                ("failures", fault_of), ("groups", groups_of), ("time", time_of)):
            points += check_series(data["charts"][f"{name}-{run.number}"], f"{name}-{run.number}", values_of, run, is_whole)
    expect(points > 400, "a run has many points", points)
    drawn = browser.evaluate("""[...document.querySelectorAll('svg[data-chart]')].map((picture) => ({
        id: picture.dataset.chart, low: +picture.dataset.low, high: +picture.dataset.high,
        bars: [...picture.querySelectorAll('path.bar')].map((path) => path.getAttribute('d')),
        cells: [...picture.querySelectorAll('rect.cell')].map((cell) => [+cell.getAttribute('x'), +cell.getAttribute('y')]),
        diamonds: [...picture.querySelectorAll('path.diamond')].map((path) => path.getAttribute('d').match(/-?[\\d.]+/g).slice(0, 2).map(Number)),
        paths: [...picture.querySelectorAll('path.line')].map((path) => path.getAttribute('d').match(/-?[\\d.]+/g).map(Number))}))""")
    compared = bars = 0
    for picture in drawn:
        chart = data["charts"][picture["id"]]
        if chart["kind"] == "stack": bars += check_stack(picture, chart)
        if chart["kind"] == "histogram": check_histogram(picture, chart, runs[int(picture["id"].split("-")[-1])])
        if chart["kind"] != "lines": continue

        def place(value):
            return 190 - (value - picture["low"]) / (picture["high"] - picture["low"]) * 168
        for path, series in zip(picture["paths"], chart["series"], strict=True):
            expect(path[0::2] == series["x"], f"{picture['id']}: the line's places are the data's")
            for y, value in zip(path[1::2], series["values"], strict=True):
                expect(math.isclose(y, place(value), abs_tol=0.06), f"{picture['id']}: a point lies at its value", y, place(value))
                compared += 1
        for (x, top), mark in zip(picture["diamonds"], chart["marks"], strict=True):
            expect(x == mark["x"] and math.isclose(top + 4, place(mark["value"]), abs_tol=0.06), f"{picture['id']}: a diamond lies at its value", x, top, mark)
    expect(compared > 400 and bars > 100, "pictures have as many points", compared, bars)
