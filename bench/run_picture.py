#!/usr/bin/env python3
"""Draws the reinforcement steps of a run as SVG:  bench/run_picture.py RUN > docs/images/quickstart.svg

Left: geometric mean of the speed-ups of correct programs. Right: shares of all responses. Standard library only.
"""
import json
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, PANEL, GAP, BOTTOM = 860, 290, 46, 40, 350, 80, 46
CURVES = [("correct", "correct_rate", "#1f77b4"), ("faster than eager PyTorch", "fast_1", "#2ca02c"),
          ("novel technique", "unshown_rate", "#d62728")]


def polyline(values, x_of, y_of, colour):
    points = " ".join(f"{x_of(i):.1f},{y_of(v):.1f}" for i, v in enumerate(values))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'


def text(x, y, words, anchor="start", colour="#222", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{words}</text>'


def panel(left, title, highest, ticks, label_of, steps, curves):
    plot_height = HEIGHT - TOP - BOTTOM
    x_of = lambda i: left + PANEL * i / max(1, len(steps) - 1)
    y_of = lambda v: TOP + plot_height * (1 - v / highest)
    parts = [text(left, TOP - 16, title, size=13)]
    for tick in ticks:
        parts.append(f'<line x1="{left}" x2="{left + PANEL}" y1="{y_of(tick):.1f}" y2="{y_of(tick):.1f}" stroke="#ddd"/>')
        parts.append(text(left - 6, y_of(tick) + 4, label_of(tick), "end", "#666", 11))
    for i in range(1, len(steps)):
        if steps[i]["phase"] != steps[i - 1]["phase"]:
            x = x_of(i - 0.5)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + plot_height}" stroke="#999" stroke-dasharray="4 4"/>')
    parts.append(text(left + PANEL / 2, HEIGHT - 10, f"{len(steps)} steps of reinforcement; dashed: a new stage", "middle", "#666", 11))
    parts += [polyline(values, x_of, y_of, colour) for _, values, colour in curves]
    return parts


def in_colours(curves):
    return ", ".join(f'<tspan fill="{colour}">{name}</tspan>' for name, _, colour in curves)


def main():
    lines = Path(sys.argv[1], "metrics.jsonl").read_text().splitlines()
    steps = [step for step in map(json.loads, lines) if "responses" in step]
    shares = [(name, [step[key] for step in steps], colour) for name, key, colour in CURVES]
    speedups = [("", [step["geomean_speedup"] for step in steps], "#1f77b4")]
    clock = "modelled " if steps[0]["clock"] == "model" else ""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    parts += panel(LEFT, f"{clock}speed-up over eager PyTorch", 2.5, (0, 0.5, 1, 1.5, 2, 2.5), lambda t: f"{t}x", steps, speedups)
    parts += panel(LEFT + PANEL + GAP, f"share of responses: {in_colours(shares)}", 1, (0, 0.25, 0.5, 0.75, 1), lambda t: f"{100 * t:.0f} %", steps, shares)
    print("\n".join([*parts, "</svg>"]))


main()
