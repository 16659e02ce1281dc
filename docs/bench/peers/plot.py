"""A picture of the ratios: a row per task and file, a dot per peer, a line where both are equally fast."""

from __future__ import annotations

import math
from html import escape

COLOURS = ("#1b7f79", "#d95f02", "#7570b3", "#a6761d", "#e7298a", "#666666")
LEFT, ROW, TOP, WIDTH, MARGIN = 300, 24, 64, 960, 30


def svg(rows: list[tuple[str, dict[str, float]]], title: str) -> str:
    """`rows`: what was done, and for each peer its time by strile's."""
    peers = list(dict.fromkeys(peer for _, ratios in rows for peer in ratios))
    colours = {peer: COLOURS[number % len(COLOURS)] for number, peer in enumerate(peers)}
    every = [ratio for _, ratios in rows for ratio in ratios.values()] or [1.0]
    low = min(-1, math.floor(math.log2(min(every))))
    high = max(1, math.ceil(math.log2(max(every))))
    bottom = TOP + ROW * len(rows)

    def across(ratio: float) -> float:
        return LEFT + (WIDTH - LEFT - MARGIN) * (math.log2(ratio) - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 50}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{bottom + 50}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="16">{escape(title)}</text>',
        f'<rect x="{across(2.0**low):.1f}" y="{TOP - 8}" width="{across(1) - across(2.0**low):.1f}" height="{bottom - TOP + 8}" fill="#fdecea"/>',
    ]
    for number, peer in enumerate(peers):
        x = MARGIN + 150 * number
        out.append(f'<circle cx="{x + 6}" cy="42" r="5" fill="{colours[peer]}"/><text x="{x + 16}" y="46">{escape(peer)}</text>')
    for power in range(low, high + 1):
        x = across(2.0**power)
        stroke = "#333" if power == 0 else "#ddd"
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}" stroke="{stroke}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{2.0**power:g}</text>')
    for number, (what, ratios) in enumerate(rows):
        y = TOP + ROW * number + 10
        out.append(f'<text x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{escape(what)}</text>')
        for peer, ratio in ratios.items():
            out.append(f'<circle cx="{across(ratio):.1f}" cy="{y}" r="5" fill="{colours[peer]}"><title>{escape(peer)} {ratio:.2f}</title></circle>')
    out.append(f'<text x="{WIDTH - MARGIN}" y="{bottom + 40}" text-anchor="end">times as fast as the peer; in the shaded part the peer is faster</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
