// The page of `bicrl report`: what a pointer or a key adds to pictures and tables that stand there without it.
// Text of a run reaches the document as text nodes alone.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");

  // ---- Helpers

  function make(tag, properties, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key === "class") node.className = value;
      else node.setAttribute(key, value);
    }
    for (const child of children) node.append(child);
    return node;
  }
  const svg = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const plain = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (value < 0) return "−" + plain(size);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
    return String(Number(value.toPrecision(Math.max(3, Math.ceil(Math.log10(size)) + 1))));
  };
  const prefixed = (value, step, names) => {
    let i = 0;
    for (; i + 1 < names.length && Math.abs(value) >= step; ++i) value /= step;
    return plain(value) + names[i];
  };
  // In the order of Unit (figure_text.h).
  const formats = [plain, (v) => plain(Math.round(1000 * v) / 10) + " %", (v) => plain(v) + " s", (v) => plain(v) + " ms",
    (v) => prefixed(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]), (v) => plain(v) + "×",
    (v) => prefixed(v, 1000, ["", "k", "M", "G", "T"]), (v) => prefixed(v, 1000, ["/s", "k/s", "M/s", "G/s"])];

  function stepName(run, row) {
    const phase = (data.runs[run] || { phases: [] }).phases.find((p) => row >= p.begin && row < p.end);
    return phase ? `${phase.name} ${row - phase.begin + phase.first_step}` : `step ${row + 1}`;
  }

  // Where another run took the step that `run` took at `row`; -1 if it did not.
  function rowOfSameStep(run, row, other) {
    if (run === other) return row;
    const phase = data.runs[run].phases.find((p) => row >= p.begin && row < p.end);
    const same = phase && data.runs[other].phases.find((p) => p.name === phase.name);
    const found = same ? row - phase.begin + phase.first_step - same.first_step + same.begin : -1;
    return found >= 0 && found < same.end && found >= same.begin ? found : -1;
  }

  // ---- The tip beside a point

  function showTip(title, lines, x, y) {
    tip.replaceChildren(make("b", {}, title), ...lines.map(([name, value]) => make("div", {}, make("span", {}, name), make("span", {}, value))));
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 12;
    tip.style.left = Math.max(8, Math.min(x + 14, room)) + window.scrollX + "px";
    tip.style.top = y + window.scrollY + 14 + "px";
  }
  const hideTip = () => { tip.hidden = true; };

  // ---- Curves and stacks

  function nearest(xs, x) {
    let best = 0;
    for (let i = 1; i < xs.length; ++i) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  }

  function attachCurves(picture, chart) {
    if (!chart.series.length) return;
    const cursor = svg("path", { class: "cursor", d: "" });
    picture.append(cursor);
    const main = chart.series.reduce((a, b) => (b.rows.length > a.rows.length ? b : a));
    let at = main.rows.length - 1;
    const show = (i) => {
      at = Math.max(0, Math.min(main.rows.length - 1, i));
      const x = main.x[at];
      cursor.setAttribute("d", `M${x} 22V190`);
      picture.dataset.row = main.rows[at];
      const format = formats[chart.unit], title = stepName(main.run, main.rows[at]);
      // A series without a value at this step shows its nearest one, under the name of that step.
      const lines = chart.series.map((s) => {
        let own = s.rows.indexOf(rowOfSameStep(main.run, main.rows[at], s.run));
        if (own < 0) own = nearest(s.x, x);
        const name = stepName(s.run, s.rows[own]);
        return [name === title ? s.label : `${s.label}, ${name}`, format(s.values[own])];
      });
      if (chart.kind === "stack") lines.reverse();
      // An evaluation lies at the end of a step, so it belongs to the point that is nearest to it as well.
      for (const mark of chart.marks || [])
        if (Math.abs(mark.x - x) < 6 || nearest(main.x, mark.x) === at) lines.push([mark.label, ""]);
      const box = picture.getBoundingClientRect();
      showTip(title, lines, box.left + (x / 440) * box.width, box.top + box.height * 0.3);
    };
    const hide = () => { cursor.setAttribute("d", ""); hideTip(); };
    const pick = (event) => {
      const box = picture.getBoundingClientRect();
      return nearest(main.x, ((event.clientX - box.left) / box.width) * 440);
    };
    // A finger hovers over nothing: it shows the point where it comes down.
    picture.addEventListener("pointerdown", (event) => show(pick(event)));
    picture.addEventListener("pointermove", (event) => show(pick(event)));
    picture.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
    picture.addEventListener("blur", hide);
    picture.addEventListener("click", (event) => {
      show(pick(event));
      openGroupsOf(main.run, main.rows[at]);
    });
    picture.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: main.rows.length - 1, PageUp: at - 10, PageDown: at + 10 };
      if (event.key in moves) show(moves[event.key]);
      else if (event.key === "Enter") openGroupsOf(main.run, main.rows[at]);
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
    picture.addEventListener("focus", () => { if (picture.matches(":focus-visible")) show(at); });
  }

  // ---- The histogram of rewards

  function attachHistogram(picture, chart, run) {
    if (!chart.columns.length) return;
    const bins = chart.columns[0].counts.length;
    const height = (chart.high - chart.low) / bins;
    const low = Number(picture.dataset.low), high = Number(picture.dataset.high);
    const cursor = svg("rect", { class: "cursor", width: 0, height: 0, x: 0, y: 0 });
    picture.append(cursor);
    const found = make("p", { class: "explanation", "aria-live": "polite" });
    picture.parentNode.append(found);
    const y = (value) => 190 - ((value - low) / (high - low)) * 168;
    const stepsOf = (each) => each.first_row === each.last_row ? stepName(run, each.first_row) : `${stepName(run, each.first_row)} to ${stepName(run, each.last_row)}`;
    let column = chart.columns.length - 1, bin = bins - 1;
    const show = (c, b) => {
      column = Math.max(0, Math.min(chart.columns.length - 1, c));
      bin = Math.max(0, Math.min(bins - 1, b));
      const each = chart.columns[column], from = chart.low + height * bin;
      const places = { x: each.x[0], y: y(from + height), width: each.x[1] - each.x[0], height: y(from) - y(from + height) };
      for (const [key, value] of Object.entries(places)) cursor.setAttribute(key, value);
      const box = picture.getBoundingClientRect();
      showTip(stepsOf(each), [["reward", `${plain(from)} to ${plain(from + height)}`], ["responses", String(each.counts[bin])]], box.left + (each.x[1] / 440) * box.width, box.top + (places.y / 214) * box.height);
    };
    const choose = () => {
      const each = chart.columns[column], from = chart.low + height * bin;
      const is_last = bin === bins - 1;
      const links = [];
      for (const group of (data.groups.groups || [])[run] || []) {
        if (group.row < each.first_row || group.row > each.last_row) continue;
        for (const r of group.responses) {
          if (r.masked || r.reward < from || (r.reward >= from + height && !is_last)) continue;
          links.push(make("a", { href: "#" + group.id, onclick: (event) => { event.preventDefault(); openGroup(group.id); } }, `group ${group.group}, sample ${r.sample} (${r.outcome})`));
        }
      }
      const count = each.counts[bin];
      found.replaceChildren(`${count} response${count === 1 ? "" : "s"} with a reward of ${plain(from)} to ${plain(from + height)} at ${stepsOf(each)}. `,
        ...(links.length ? links.slice(0, 12).flatMap((link) => [link, " "]) : count ? ["The page has no text of them."] : []));
    };
    const hide = () => { cursor.setAttribute("width", 0); hideTip(); };
    const point = (event) => {
      const box = picture.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * 440, top = ((event.clientY - box.top) / box.height) * 214;
      const c = chart.columns.findIndex((each) => x >= each.x[0] && x < each.x[1]);
      const value = low + ((190 - top) / 168) * (high - low);
      const is_cell = c >= 0 && value >= chart.low && value <= chart.high;
      if (is_cell) show(c, Math.floor((value - chart.low) / height));
      else hide();
      return is_cell;
    };
    picture.addEventListener("pointerdown", point);
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
    picture.addEventListener("blur", hide);
    picture.addEventListener("click", (event) => { if (point(event)) choose(); });
    picture.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], Home: [-column, 0], End: [chart.columns.length - 1 - column, 0] };
      if (event.key in moves) show(column + moves[event.key][0], bin + moves[event.key][1]);
      else if (event.key === "Enter") choose();
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
  }

  // ---- Groups

  function openGroup(id) {
    const chosen = document.getElementById(id);
    if (!chosen) return;
    for (const group of document.querySelectorAll("details.group")) group.open = group === chosen;
    const select = document.getElementById("group-select");
    if (select) select.value = id;
    chosen.scrollIntoView({ block: "start" });
    chosen.querySelector("summary").focus({ preventScroll: true });
  }
  // The shown group nearest to a step.
  function openGroupsOf(run, row) {
    const groups = (((data.groups || {}).groups || [])[run] || []);
    if (!groups.length) return;
    openGroup(groups.reduce((a, b) => (Math.abs(b.row - row) < Math.abs(a.row - row) ? b : a)).id);
  }
  function attachGroups() {
    const all = ((data.groups || {}).groups || []).flatMap((groups, run) => groups.map((group) => ({ ...group, run })));
    const section = document.getElementById("groups");
    if (!section || !all.length) return;
    const select = make("select", { id: "group-select", onchange: () => openGroup(select.value) });
    for (const group of all)
      select.append(make("option", { value: group.id }, `${data.runs.length > 1 ? data.runs[group.run].name + ", " : ""}${stepName(group.run, group.row)}, ${group.task} (${group.reasons.join(", ")})`));
    const move = (by) => {
      const at = all.findIndex((group) => group.id === select.value);
      openGroup(all[(at + by + all.length) % all.length].id);
    };
    section.querySelector("h2").after(make("div", { class: "toolbar" }, make("label", {}, "Group", select),
      make("button", { type: "button", onclick: () => move(-1) }, "Previous"), make("button", { type: "button", onclick: () => move(1) }, "Next")));
  }

  // ---- Denoising

  function attachDenoising() {
    const place = document.getElementById("denoising-viewer");
    const responses = (data.denoising || {}).responses || [];
    if (!place || !responses.length) return;
    let response, tokens, last, step, timer = null;
    const choice = make("select", { id: "denoising-select", onchange: () => load(responses[choice.selectedIndex]) });
    for (const each of responses) choice.append(make("option", {}, each.label));
    const colour = make("select", { id: "denoising-colour", onchange: () => paint() });
    for (const [value, name] of [["step", "denoise step"], ["probability", "probability"], ["advantage", "advantage"]]) colour.append(make("option", { value }, name));
    const play = make("button", { type: "button", class: "primary", onclick: () => (timer ? stop() : start()) }, "Play");
    const slider = make("input", { type: "range", min: "0", step: "1", "aria-label": "Denoise step", oninput: () => { stop(); go(Number(slider.value)); } });
    const counter = make("output", {});
    const text = make("pre", { class: "tokens", tabindex: "0", "aria-label": "Tokens of the response" });
    const readout = make("p", { class: "readout", "aria-live": "polite" });
    const scale = make("span", { class: "scale" });
    const block = (i) => Math.floor((response.offset_in_block + i) / response.block_tokens);
    const accepted = (i) => Math.abs(response.steps[i]);
    const probability = (i) => Math.exp(response.log_prob_hundredths[i] / 100);
    const percent = (value) => plain(Math.round(1000 * value) / 10) + " %";

    function shadeOf(i) {
      if (colour.value === "step") return "t" + (1 + Math.floor(((accepted(i) - 1) * 7.99) / Math.max(last, 1)));
      if (response.steps[i] <= 0) return "";
      if (colour.value === "probability") return "u" + (1 + Math.min(7, Math.floor((1 - probability(i)) * 8)));
      if (response.advantage === 0) return "";
      return (response.advantage > 0 ? "t" : "u") + (1 + Math.min(7, Math.floor(Math.abs(response.advantage) * 3)));
    }
    function paint() {
      tokens.forEach((token, i) => {
        const is_open = accepted(i) > 0 && accepted(i) <= step;
        const classes = ["token", is_open ? shadeOf(i) : "masked"];
        if (is_open && accepted(i) === step && step < last) classes.push("now");
        if (is_open && response.steps[i] < 0) classes.push("unscored");
        if (i >= response.fault[0] && i < response.fault[1]) classes.push("fault");
        token.className = classes.filter(Boolean).join(" ");
      });
      const sign = { step: ["t1", "first", "t8", "last step"], probability: ["u1", "sure", "u8", "unsure"], advantage: ["u6", "negative", "t6", "positive"] }[colour.value];
      scale.replaceChildren(make("i", { class: sign[0] }), sign[1], make("i", { class: sign[2] }), sign[3]);
    }
    const brief = (piece) => {
      const line = piece.replaceAll("\n", "⏎");
      return line.length > 36 ? line.slice(0, 34) + "…" : line;
    };
    // Keeps what was just written in view, without moving the page.
    function follow(i) {
      const top = tokens[i].offsetTop, bottom = top + tokens[i].offsetHeight;
      if (top < text.scrollTop || bottom > text.scrollTop + text.clientHeight) text.scrollTop = Math.max(0, top - text.clientHeight / 3);
    }
    function describe(i) {
      return `“${brief(response.pieces[i])}” at step ${accepted(i)}${response.steps[i] > 0 ? `, probability ${percent(probability(i))}` : ", behind the end"}`;
    }
    function go(to) {
      step = Math.max(0, Math.min(last, to));
      slider.value = step;
      counter.textContent = `step ${step} of ${last}`;
      paint();
      const now = tokens.flatMap((_, i) => (accepted(i) === step && step > 0 ? [i] : []));
      if (now.length && step < last) follow(now[0]);
      const where = now.length ? `Block ${block(now[0]) + 1}: ` : "";
      const fault = step === last && response.fault[1] > 0 ? ` Underlined: the line of the fault. ${response.diagnostics}` : "";
      readout.textContent = step === 0 ? "All tokens are masked." : where + now.slice(0, 8).map(describe).join("; ") + (now.length > 8 ? `; ${now.length - 8} more` : "") + "." + fault;
    }
    const blockEnds = () => [...new Set(tokens.map((_, i) => block(i)))].map((b) => Math.max(...tokens.map((_, i) => (block(i) === b ? accepted(i) : 0))));
    function moveBlock(forward) {
      stop();
      const ends = [0, ...blockEnds()].sort((a, b) => a - b);
      go(forward ? ends.find((end) => end > step) ?? last : ends.filter((end) => end < step).pop() ?? 0);
    }
    function stop() { clearInterval(timer); timer = null; play.textContent = "Play"; }
    function start() {
      if (step >= last) go(0);
      play.textContent = "Pause";
      timer = setInterval(() => { if (step >= last) stop(); else go(step + 1); }, Math.max(40, Math.min(250, 6000 / Math.max(last, 1))));
    }
    function load(next) {
      if (timer) stop();
      response = next;
      last = Math.max(0, ...response.steps.map(Math.abs));
      tokens = response.pieces.map((piece, i) => make("span", { class: "token", onpointerenter: () => { if (accepted(i) <= step) readout.textContent = describe(i) + "."; } }, piece));
      text.replaceChildren(...tokens);
      slider.max = last;
      go(last);
    }
    place.className = "viewer";
    place.replaceChildren(make("div", { class: "toolbar" }, make("label", {}, "Response", choice), make("label", {}, "Colour", colour), scale),
      make("div", { class: "toolbar" }, play, make("button", { type: "button", onclick: () => moveBlock(false) }, "Previous block"), make("button", { type: "button", onclick: () => moveBlock(true) }, "Next block"), slider, counter),
      text, readout);
    load(responses[0]);
  }

  // ---- The section in view, and a run that goes on

  function attachNavigation() {
    const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
    const nav = document.querySelector("nav"), visible = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.isIntersecting ? visible.add(entry.target.id) : visible.delete(entry.target.id);
      const first = [...links.keys()].find((id) => visible.has(id));
      for (const [id, link] of links) id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
      if (first) nav.scrollLeft = links.get(first).offsetLeft - nav.clientWidth / 3;  // on a phone it does not fit
    }, { rootMargin: "-20% 0px -60% 0px" });
    for (const id of links.keys()) observer.observe(document.getElementById(id));
  }
  function attachLive() {
    if (!data.live) return;
    const openAtFirst = new Set(document.querySelectorAll("details[open]"));
    const events = new EventSource(data.live);
    events.addEventListener("changed", () => {
      events.close();
      // A person who has scrolled, has opened something, or is at something by keys, is not interrupted.
      const isRead = window.scrollY > 0 || document.activeElement !== document.body || [...document.querySelectorAll("details")].some((each) => each.open !== openAtFirst.has(each));
      if (!isRead) location.reload();
      else document.querySelector("nav").append(make("button", { type: "button", class: "primary", onclick: () => location.reload() }, "New steps: reload"));
    });
  }

  for (const picture of document.querySelectorAll("svg[data-chart]")) {
    const chart = (data.charts || {})[picture.dataset.chart];
    if (!chart) continue;
    if (chart.kind === "histogram") attachHistogram(picture, chart, Number(picture.dataset.chart.split("-").pop()));
    else attachCurves(picture, chart);
  }
  attachGroups();
  attachDenoising();
  attachNavigation();
  attachLive();
  // For a fragment in the address, as a link from elsewhere has it.
  if (location.hash.startsWith("#group-")) openGroup(location.hash.slice(1));
  document.documentElement.dataset.ready = "true";
})();
