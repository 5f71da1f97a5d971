"""The frame of every plot: a picture that stands alone as a file and inside a page, in light and in dark."""

from __future__ import annotations

import math

from recollect.evaluation.report.markup import escaped

__all__ = ["STYLE", "cut", "frame", "number", "ticks", "width_of", "words"]

STYLE = """\
.plot{--ink:#1d2127;--soft:#59616d;--line:#dfe2e7;--paper:#fff;--better:#1f5fae;--worse:#b3530b;--base:#747d8a;
--s1:#1f5fae;--s2:#b3530b;--s3:#1b7f5c;--s4:#8a4a9e;--s5:#8a6d00;--s6:#5a6472;
font:12px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
@media screen and (prefers-color-scheme:dark){.plot{--ink:#e7eaee;--soft:#a7afbb;--line:#333a44;--paper:#14171b;
--better:#79adf5;--worse:#f0a060;--base:#929baa;--s1:#79adf5;--s2:#f0a060;--s3:#5cc8a0;--s4:#cf9be0;
--s5:#d8bd4a;--s6:#a7b0bd}}
.plot text{fill:var(--ink)}.plot .soft{fill:var(--soft)}.plot .strong{font-weight:600}
.plot .head{font-size:14px;font-weight:600}
.plot .grid{stroke:var(--line);stroke-width:1;fill:none}.plot .axis{stroke:var(--soft);stroke-width:1}
.plot .whisker{stroke:var(--ink);stroke-width:1.5;fill:none}
.plot .better{fill:var(--better);stroke:var(--better)}.plot .worse{fill:var(--worse);stroke:var(--worse)}
.plot .baseline{fill:var(--base);stroke:var(--base)}.plot .bar{fill-opacity:.45}.plot .cell{stroke:none}
.plot .open{fill:none;stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}
.plot .s1{--s:var(--s1)}.plot .s2{--s:var(--s2)}.plot .s3{--s:var(--s3)}.plot .s4{--s:var(--s4)}.plot .s5{--s:var(--s5)}
.plot .s6{--s:var(--s6)}.plot .trace{stroke:var(--s);stroke-width:2;fill:none;stroke-linejoin:round}
.plot .band{fill:var(--s);fill-opacity:.13;stroke:var(--s);stroke-opacity:.3;stroke-width:1}
.plot .dot{fill:var(--s);stroke:var(--paper);stroke-width:1.5}
"""
"""Colours are told apart by the colour-blind, and no colour says what a sign or a word does not say as well."""

_CHARACTER = 6.4
"""How wide a character of 12 pixels is, about; wide enough for what is usually written."""


def number(value: float) -> str:
    """Return a coordinate in as few characters as show the same.

    >>> number(12.0), number(0.333333)
    ('12', '0.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def width_of(text: str, size: float = 12) -> float:
    """Return about how wide ``text`` is in pixels at a font size: fonts differ, and there is no browser here to ask."""
    return len(text) * _CHARACTER * size / 12


def cut(text: str, room: float, size: float = 12) -> str:
    """Return as much of ``text`` as there is room for, with an ellipsis where it was cut.

    >>> cut("single-session-preference", 80)
    'single-sess…'
    """
    fitting = max(2, int(room / (_CHARACTER * size / 12)))
    return text if len(text) <= fitting else text[: fitting - 1] + "…"


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Return a piece of text at a place, its base line at ``y``."""
    classes = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{number(x)}" y="{number(y)}"{classes}{side}>{escaped(text)}</text>'


def frame(width: float, height: float, title: str, description: str, body: list[str], *, styled: bool = True) -> str:
    r"""Return a whole SVG; without its style (``styled``) it is for a page that has ``STYLE`` already.

    >>> frame(10, 10, "T", "D", [], styled=False)
    '<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="10" height="10" viewBox="0 0 10 10" role="img"
    aria-label="T. D">\n<title>T</title>\n<desc>D</desc>\n</svg>\n'
    """
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    label = f'role="img" aria-label="{escaped(f"{title}. {description}")}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} {label}>',
        f"<title>{escaped(title)}</title>",
        f"<desc>{escaped(description)}</desc>",
    ]
    if styled:
        # A file of its own has no page behind it, so it brings its paper along.
        lines += [f"<style>\n{STYLE}</style>", '<rect width="100%" height="100%" style="fill:var(--paper)"/>']
    return "\n".join([*lines, *body, "</svg>"]) + "\n"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers from at or below ``low`` to at or above ``high``, about as many as asked for.

    >>> ticks(0.52, 0.67)
    [0.5, 0.55, 0.6, 0.65, 0.7]
    >>> ticks(0.5, 0.5)
    [0.5, 0.502, 0.504, 0.506, 0.508, 0.51]
    """
    if high - low < 0.001:
        high = low + 0.01
    raw = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]
