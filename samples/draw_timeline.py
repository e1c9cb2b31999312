#!/usr/bin/env python3
"""Draws one core of a trace as an SVG picture: `ptorun ... --trace t.json; draw_timeline.py t.json CORE FROM_US TO_US > t.svg`.

Perfetto (https://ui.perfetto.dev) shows the same file with zoom and search; this is for documents. Python's standard library only.
"""

import json
import sys

COLOURS = {"tload": "#4c78a8", "tstore": "#e45756", "tmov": "#72b7b2", "textract": "#72b7b2", "tmatmul": "#f58518",
           "tmatmul_acc": "#f58518", "tmatmul_bias": "#f58518", "wait_flag": "#dddddd", "set_flag": "#dddddd"}
LANE, LEFT, WIDTH = 26, 60, 900


def main():
    path, core, begin, end = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    events = json.load(open(path, encoding="utf-8"))["traceEvents"]
    pids = [e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == core]
    lanes = {e["tid"]: e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == pids[0]}
    order = {tid: row for row, tid in enumerate(sorted(lanes))}
    scale = WIDTH / (end - begin)
    height = LANE * len(lanes) + 34
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 10} {height}" '
          'font-family="sans-serif" font-size="12">')
    print(f'<rect width="100%" height="100%" fill="white"/>')
    for tid, row in order.items():
        y = row * LANE + 6
        print(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{lanes[tid]}</text>')
        print(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y + 21}" y2="{y + 21}" stroke="#eee"/>')
    for event in events:
        if event["ph"] != "X" or event["pid"] != pids[0] or event["tid"] not in order:
            continue
        start, stop = max(event["ts"], begin), min(event["ts"] + event["dur"], end)
        if stop <= start or event["name"] in ("set_flag", "wait_flag"):
            continue
        colour = COLOURS.get(event["name"], "#54a24b")
        x, width = LEFT + (start - begin) * scale, max((stop - start) * scale - 0.5, 0.5)
        print(f'<rect x="{x:.1f}" y="{order[event["tid"]] * LANE + 6}" width="{width:.1f}" height="20" fill="{colour}">'
              f'<title>{event["name"]} {event["args"].get("line", "")}</title></rect>')
    for i in range(6):
        x = LEFT + WIDTH * i / 5
        print(f'<text x="{x:.0f}" y="{height - 10}" text-anchor="middle" fill="#666">{begin + (end - begin) * i / 5:.1f} us</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
