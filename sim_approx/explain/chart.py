"""The roofline of a run as a picture: operations a cycle over operations a byte, both on logarithmic axes."""

from __future__ import annotations

import math

from sim_approx.explain.usage import Roofline

LEFT, TOP, WIDTH, HEIGHT = 60, 20, 500, 240


def chart(roofline: Roofline, colour: str) -> str:
    """SVG, with the run as a dot of this ``colour``; `roofline` must have operations, and bytes moved."""
    assert roofline.intensity and roofline.flops
    ridge = roofline.peak / roofline.bandwidth
    least, most = min(ridge, roofline.intensity) / 8, max(ridge, roofline.intensity) * 8
    low, high = min(roofline.attained, least * roofline.bandwidth) / 2, roofline.peak * 2

    def place(intensity: float, operations: float) -> tuple[float, float]:
        right = math.log(intensity / least) / math.log(most / least)
        up = math.log(operations / low) / math.log(high / low)
        return round(LEFT + WIDTH * right, 1), round(TOP + HEIGHT * (1 - up), 1)

    corners = (least, least * roofline.bandwidth), (ridge, roofline.peak), (most, roofline.peak)
    roof = " ".join("{},{}".format(*place(*corner)) for corner in corners)
    across, down = place(roofline.intensity, roofline.attained)
    peak_across, peak_down = place(ridge, roofline.peak)
    bottom, middle = TOP + HEIGHT, TOP + HEIGHT // 2
    return (
        f'<svg width="{LEFT + WIDTH + 40}" height="{bottom + 50}" font-family="Helvetica, sans-serif" font-size="12">'
        f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + WIDTH}" fill="none" stroke="#888"/>'
        f'<polyline points="{roof}" fill="none" stroke="#333" stroke-width="2"/>'
        f'<circle cx="{across}" cy="{down}" r="5" fill="{colour}"/>'
        f'<text x="{across + 9}" y="{down + 4}">this run: {roofline.attained:.3g}</text>'
        f'<text x="{peak_across + 4}" y="{peak_down - 6}">lanes: {roofline.peak:,} operations a cycle</text>'
        f'<text x="{LEFT + 4}" y="{bottom - 8}">memory: {roofline.bandwidth:,.4g} bytes a cycle</text>'
        f'<text x="{LEFT + WIDTH // 2}" y="{bottom + 30}" text-anchor="middle">operations a byte '
        f"(this run: {roofline.intensity:.3g})</text>"
        f'<text x="20" y="{middle}" transform="rotate(-90 20 {middle})" text-anchor="middle">operations a cycle</text>'
        "</svg>"
    )
