"""Lines for a terminal: what notes say without its control characters, long texts wrapped, and bars."""

from __future__ import annotations

from textwrap import wrap

from recollect.text import collapse_whitespace

__all__ = ["LEAST_WIDTH", "WIDTH", "bar", "change_bar", "hanging", "one_line", "shortened"]

WIDTH = 110
"""How wide a drawing is where nobody says otherwise."""
LEAST_WIDTH = 60

_LONGEST = 100
_EIGHTHS = " ▏▎▍▌▋▊▉"


def one_line(text: str, longest: int = _LONGEST) -> str:
    r"""Return ``text`` fit for a terminal: no line breaks and no control codes, and not too long.

    >>> one_line("green\n\x1b[31mtea", 9)
    'green [3…'
    """
    shown = collapse_whitespace("".join(character if character.isprintable() else " " for character in text[:longest]))
    return shown if len(text) <= longest else f"{shown}…"


def shortened(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters.

    >>> shortened("green tea", 6)
    'green…'
    """
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def hanging(beginning: str, text: str, width: int) -> list[str]:
    """Return ``beginning`` and behind it ``text``, wrapped: its further lines stand below its first.

    >>> hanging("tea  ", "green, brewed cool", 16)
    ['tea  green,', '     brewed cool']
    """
    first, *rest = wrap(text, max(1, width - len(beginning)), break_on_hyphens=False) or [""]
    return [f"{beginning}{first}".rstrip(), *(" " * len(beginning) + line for line in rest)]


def bar(start: float, end: float, cells: int) -> str:
    """Return a bar from ``start`` to ``end`` on a scale from 0 to 1 that is so many cells long.

    It begins with the nearest whole cell and ends at an eighth of one; what is less than an eighth is drawn as one.

    >>> bar(0.5, 0.8, 10), bar(0.0, 0.5, 3), bar(0.9, 0.9, 10)
    ('     ███', '█▌', '')
    """
    if end <= start:
        return ""
    first = min(round(_clamped(start) * cells), cells - 1)
    eighths = max(1, round(_clamped(end) * cells * 8) - first * 8)
    return " " * first + "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def change_bar(before: float, after: float, cells: int) -> str:
    """Return the bar of a score that changed: what was added is shaded dark, what was taken away light.

    >>> change_bar(0.4, 0.6, 10), change_bar(0.6, 0.4, 10), change_bar(0.6, 0.61, 10)
    ('████▓▓', '████░░', '██████▏')
    """
    left, right = round(_clamped(before) * cells), round(_clamped(after) * cells)
    if left == right:
        return bar(0.0, after, cells)
    return "█" * min(left, right) + ("▓" if right > left else "░") * abs(right - left)


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
