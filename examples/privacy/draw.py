"""Draws rows.svg: how many rows a neighbour tells rightly, beside how many rows a clinic has. Reads what `fedgrid audit --json` has
written: FILE ROWS …

    python3 draw.py few.json 6 many.json 60
"""

import json
import sys

bars = []
for file, rows in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    with open(file, encoding="utf-8") as read:
        nodes = json.load(read)["nodes"]
    right = sum(node["membership"]["right_share"] for node in nodes) / len(nodes)
    bars.append((f"{rows} rows", right))
width, left, top, step = 620, 110, 30, 46
scale = width - left - 90
parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + step * len(bars) + 40}" font-family="sans-serif"'
         ' font-size="15"><rect width="100%" height="100%" fill="white"/>']
for k, (label, share) in enumerate(bars):
    y = top + step * k
    parts.append(f'<text x="{left - 12}" y="{y + 21}" text-anchor="end">{label}</text>')
    parts.append(f'<rect x="{left}" y="{y}" width="{scale * share:.0f}" height="30" fill="#0a63ac"/>')
    parts.append(f'<text x="{left + scale * share + 8:.0f}" y="{y + 21}">{100 * share:.0f} %</text>')
chance, bottom = left + scale / 2, top + step * len(bars)
parts.append(f'<line x1="{chance}" x2="{chance}" y1="{top - 12}" y2="{bottom}" stroke="#b85410" stroke-width="2" stroke-dasharray="5 4"/>')
parts.append(f'<text x="{chance}" y="{bottom + 18}" text-anchor="middle" fill="#b85410">chance</text></svg>')
with open("rows.svg", "w", encoding="utf-8") as file:
    file.write("\n".join(parts) + "\n")
