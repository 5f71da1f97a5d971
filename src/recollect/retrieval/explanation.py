"""Why each result stands where it stands, drawn for a person in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.retrieval.lines import LEAST_WIDTH, WIDTH, one_line, shortened
from recollect.retrieval.timeline import draw_head, parts, story
from recollect.retrieval.waterfall import Row, draw_row, highest, pointers, rows, widths
from recollect.retrieval.wording import retry_in_words, standing_in_words

if TYPE_CHECKING:
    from recollect.retrieval.trace import Trace

__all__ = ["account", "explain", "explain_search"]

_LONGEST_BEGINNING = 50
"""How much of its content stands for a note that has no name, such as a turn of a conversation."""


def explain(candidates: Iterable[Candidate | Mapping[str, Any]], *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of what each leg gave to each candidate and what each stage then did to it.

    ``candidates`` are as a fusion or a stage returns them. ``limit`` is how many are drawn; ``None`` or 0 draws all.
    ``width`` is how many columns there are, at least 60. All bars are on one scale: what a stage added is shaded dark,
    what it took away light.

    >>> from recollect.fusion import reciprocal_rank_fusion
    >>> from recollect.ranking import importance_prior
    >>> fused = reciprocal_rank_fusion([[{"id": "tea", "title": "Tea", "score": 7.2, "importance": 0.2}]])
    >>> print(explain(importance_prior(fused), width=90))
     1  Tea  (tea)
        lexical     +0.016393            ██████████████████  rank 1 · raw 7.2
        fused                  0.016393  ██████████████████  1.00 of the most possible
        importance     × 0.76  0.012459  ██████████████░░░░  importance 0.20
        score                  0.012459  █████████████▋
    """
    return _drawn(as_candidates("candidates", candidates), None, limit=limit, width=width)


def explain_search(trace: Trace, *, limit: int | None = 10, width: int = WIDTH) -> str:
    """Return a drawing of a whole search: how the query was read, what each part did, and then each result.

    >>> from recollect.retrieval import Trace
    >>> explain_search(Trace(mode="bm25", original_query="tea")).splitlines()[0]
    'query        tea'
    """
    results = _drawn(trace.results, trace, limit=limit, width=width)
    head = draw_head(trace, max(LEAST_WIDTH, width))
    return f"{head}\n\n{results}" if results else head


def account(trace: Trace, *, limit: int | None = 10) -> dict[str, Any]:
    """Return what :func:`explain_search` draws as JSON-ready data, for whoever draws it otherwise.

    ``story`` tells how the query was read, ``notice`` what was done where its words found nothing, ``timeline`` what
    each part did and when, in milliseconds; ``waterfalls`` a sentence on each result and its rows, on a scale of scores
    that ends at ``scale``.

    >>> from recollect.retrieval import Trace
    >>> account(Trace(mode="bm25", original_query="tea"))["story"][0]
    {'label': 'query', 'text': 'tea'}
    """
    shown = _first(trace.results, limit)
    retried = retry_in_words(trace)
    places = _places(trace.results)
    return {
        "story": [{"label": label, "text": text} for label, text in story(trace)],
        "notice": "" if retried in trace.warnings else retried,
        "timeline": [part.to_dict() for part in parts(trace)],
        "scale": highest(shown),
        "waterfalls": [
            {
                "id": candidate.id,
                "sentence": standing_in_words(candidate),
                "notes": list(pointers(candidate, places)),
                "rows": [row.to_dict() for row in _rows(candidate, trace)],
            }
            for candidate in shown
        ],
    }


def _rows(candidate: Candidate, trace: Trace | None) -> list[Row]:
    if trace is None:
        return rows(candidate)
    return rows(candidate, trace.contexts.get(candidate.id), trace.stem_only.get(candidate.id))


def _drawn(found: Sequence[Candidate], trace: Trace | None, *, limit: int | None, width: int) -> str:
    """Return the drawing of each result; the trace has their context and discounts."""
    shown = _first(found, limit)
    columns = max(LEAST_WIDTH, arguments.count("width", width))
    scale, cells = highest(shown), columns // 5
    tables = [_rows(candidate, trace) for candidate in shown]
    aligned = widths([row for table in tables for row in table])
    places = _places(found)
    return "\n\n".join(
        "\n".join(
            (
                _heading(rank, candidate),
                *(f"    ↳ {pointer}" for pointer in pointers(candidate, places)),
                *(line for row in table for line in draw_row(row, aligned, scale, cells, columns)),
            )
        )
        for rank, (candidate, table) in enumerate(zip(shown, tables, strict=True), 1)
    )


def _first(found: Sequence[Candidate], limit: int | None) -> Sequence[Candidate]:
    most = arguments.limit("limit", limit)
    return found[:most] if most else found


def _places(found: Sequence[Candidate]) -> dict[str, tuple[int, Candidate]]:
    return {candidate.id: (rank, candidate) for rank, candidate in enumerate(found, 1)}


def _heading(rank: int, candidate: Candidate) -> str:
    said = shortened(one_line(candidate.content), _LONGEST_BEGINNING)
    name = one_line(candidate.title) or one_line(candidate.path) or said or one_line(candidate.id)
    where = one_line(candidate.path if candidate.title.strip() and candidate.path else candidate.id)
    return f"{rank:>2}  {name}" + (f"  ({where})" if where != name else "")
