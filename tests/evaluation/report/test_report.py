"""Reports as HTML and Markdown have the same numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from recollect import ArgumentError
from recollect.evaluation import Outcome, trust_metrics
from recollect.evaluation.report import (
    Report,
    build_report,
    html_report,
    markdown_report,
    write_report,
)
from tests.evaluation.outcomes import dataset, outcome, realistic_outcomes
from tests.strategies import any_text


@pytest.fixture(scope="module")
def realistic_report() -> Report:
    outcomes, data = realistic_outcomes(200)
    return build_report(outcomes, data, date="1 March 2026", resamples=500)


def small_report(**changes: object) -> Report:
    """Two systems, one kind of question, nothing else."""
    old = outcome("old", {"any@5": [0.0] * 8}, ranks=[7] * 8)
    new = outcome("new", {"any@5": [1.0] * 8}, ranks=[2] * 8)
    return replace(build_report([old, new], dataset(8), resamples=200), **changes)  # type: ignore[arg-type]


def confident_outcome(system: str, *confidences: float) -> Outcome:
    """An outcome of queries whose first hit is right, with these confidences."""
    actual = outcome(system, {"any@5": [1.0] * len(confidences)})
    rankings = {
        name: replace(ranking, confidences=(confidence,))
        for (name, ranking), confidence in zip(actual.rankings.items(), confidences, strict=True)
    }
    return replace(actual, trust=trust_metrics(dataset(len(confidences)).questions, rankings, 0.4))


def test_trust_has_a_table_and_a_reliability_diagram() -> None:
    systems = [
        confident_outcome("sure", 0.9, 0.9, 0.9, 0.9),
        confident_outcome("shy", 0.2, 0.6, 0.9, 0.9),
        outcome("new", {"any@5": [1] * 4}),
    ]
    report = build_report(systems, dataset(4), resamples=200)
    reported = markdown_report(report)
    assert "| sure | 0.4 | 1.000 | 0.000 | – | 0.100 | 0.100–0.100 |" in reported
    assert "| shy | 0.4 | 1.000 | 0.250 | – | 0.350 |" in reported
    trust = reported[reported.index("## Trust") : reported.index("## Question")]
    assert "| new |" not in trust  # its confidences are unknown
    page = html_report(report)
    Page(page)
    assert "<title>confidence 0.200: 1.000 of 1 relevant</title>" in page
    assert "sure: reliability, ECE 0.100" in page
    assert page.count(": reliability, ECE ") == 2 * 3  # title, heading and label; none for unknown confidences


def test_report_without_confidences_has_no_trust_section() -> None:
    assert "Trust" not in markdown_report(small_report())
    assert "<h2>Trust</h2>" not in html_report(small_report())


class Page(HTMLParser):
    """Parse a page, check that elements are closed, and collect its contents."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href", "action")]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (the base class has it)
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_report_is_self_contained(realistic_report: Report) -> None:
    page = Page(html_report(realistic_report))
    assert page.addresses == ["data:,"]
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.tags.count("svg") == 8
    text = " ".join(page.texts)
    for heading in (
        "Measures",
        "Means and intervals",
        "Kinds of question",
        "Question by question",
        "Systems and latency",
        "How this was computed",
        "All figures",
    ):
        assert heading in page.texts
    assert "<script>document.title='broken out'</script> & <img src=x onerror=alert(1)>" in text
    assert "1 March 2026" in text
    assert "4 of 404 questions were left out" in text
    assert "for the 3 systems compared" in text
    assert "Synthetic" not in text


def test_html_report_shows_the_comparison(realistic_report: Report) -> None:
    text = html_report(realistic_report)
    result = realistic_report.comparison.result("default", "mrr")
    assert result.difference is not None
    assert f"<strong>{result.mean:.3f}</strong>" in text
    assert f"+{result.difference.mean:.3f} (+{result.difference.low:.3f} to +{result.difference.high:.3f})" in text
    assert result.significant
    assert '<span class="verdict better"><span aria-hidden="true">▲</span> better</span>' in text
    assert "inconclusive" in text
    assert '<span class="verdict baseline">baseline</span>' in text


def test_reports_mark_differences_that_are_not_significant() -> None:
    # Two against zero on 5 of 5 questions: the interval is off zero, and p is 2 of 32.
    report = build_report(
        [outcome("old", {"mrr": [0.0] * 5}), outcome("new", {"mrr": [1.0] * 5})], dataset(5), resamples=200
    )
    message = "better, not significant"
    assert f'<span class="verdict better unsure"><span aria-hidden="true">△</span> {message}</span>' in html_report(
        report
    )
    assert f"| mrr | new | +1.000 | +1.000 to +1.000 | 0.062 | 0.062 | △ {message} |" in markdown_report(report)


def test_reports_omit_empty_sections() -> None:
    report = small_report()
    page = Page(html_report(report))
    assert "Kinds of question" not in page.texts
    assert "Holm" not in " ".join(page.texts).replace("p, Holm", "")
    assert "8 won, 0 lost, 0 equal" in page.texts
    assert "None lost." in page.texts
    text = markdown_report(report)
    assert "## Kinds of question" not in text
    assert "8 won, 0 lost, 0 equal, by any@5." in text
    assert "| 7 | 2 | +1.000 |" in text


def test_reports_of_one_system() -> None:
    data = dataset(4)
    without_notes = replace(data, collections={})
    for report in (
        build_report([outcome("old", {"mrr": [0.5] * 4}, strata={"late": [2, 3]})], each_dataset, resamples=50)
        for each_dataset in (data, without_notes)
    ):
        page = Page(html_report(report))
        assert "Question by question" not in page.texts
        assert "Kinds of question" in page.texts
        assert ("Notes" in page.texts) == bool(report.dataset.notes)
        text = markdown_report(report)
        assert "## Differences" not in text
        assert ("2 notes in 1 collection" in text) == bool(report.dataset.notes)
        assert "### late (2)" in text


def test_reports_of_equal_systems() -> None:
    same = {"mrr": [0.5] * 4}
    report = build_report([outcome("old", same), outcome("new", same)], dataset(4), resamples=50)
    assert "inconclusive (no difference)" in html_report(report)
    assert "0 won, 0 lost, 4 equal, by mrr.\n\n##" in markdown_report(report)


def test_reports_mark_synthetic_questions() -> None:
    report = small_report(dataset=dataset(8, synthetic=True))
    assert '<p class="banner" role="note"><strong>Synthetic questions.</strong>' in html_report(report)
    assert "> **Synthetic questions.**" in markdown_report(report)


def test_reports_name_omitted_measures() -> None:
    old = outcome("old", {"mrr": [0.5] * 4, "count": [3.0] * 4})
    report = build_report([old], dataset(4), resamples=50)
    assert (
        "Measures left out, because their values are not fractions of 1 or a system lacks them: count."
        in html_report(report)
    )


def test_win_loss_prefers_graded_measures() -> None:
    def measure(*names: str) -> str:
        values = {name: [0.5] * 3 for name in names}
        outcomes = [outcome("old", values), outcome("new", values)]
        return build_report(outcomes, dataset(3), resamples=20).win_losses[0].measure

    assert measure("any@5", "mrr", "ndcg@10") == "ndcg@10"
    assert measure("any@5", "mrr") == "mrr"
    assert measure("any@5", "any@1") == "any@5"


def test_report_latency_and_depth() -> None:
    # 2, 3, … 8 milliseconds and again 2.
    report = small_report()
    assert report.outcomes[0].latency(50) == 4.5
    assert report.depth == 10
    assert "rankings of up to 10 notes were judged." in markdown_report(report)
    assert report.embedders == ["minilm"]


def test_markdown_report_tables(realistic_report: Report) -> None:
    text = markdown_report(realistic_report)
    assert text.startswith(
        "# locomo-like, turns\n\n200 questions, 2 notes in 1 collection, embedder minilm, 1 March 2026."
    )
    parsed = MarkdownIt("commonmark").enable("table").parse(text)
    tables = [token for token in parsed if token.type == "table_open"]
    # Measures, differences, six kinds of question, three comparisons by question, systems.
    assert len(tables) == 1 + 1 + 6 + 3 + 1
    assert text.endswith("the same outcomes give the same report.\n")


def test_markdown_report_escapes_questions() -> None:
    systems = [outcome("old", {"mrr": [0.0]}), outcome("new", {"mrr": [1.0]})]
    text = "<script>alert(1)</script> | *a* [b](c)"
    rendered = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(markdown_report(build_report(systems, dataset(1, texts=[text]), resamples=20)))
    )
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt; | *a* [b](c)</td>" in rendered


def test_markdown_rows_have_equal_columns(realistic_report: Report) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", markdown_report(realistic_report), flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


@settings(max_examples=30)
@given(any_text, any_text)
def test_reports_escape_any_text(name: str, text: str) -> None:
    data = dataset(2, name=name, texts=[text], remarks=[text])
    systems = [
        outcome("old", {"mrr": [0.0, 1.0]}, dataset=name),
        outcome(f"{text}!", {"mrr": [1.0, 1.0]}, dataset=name),
    ]
    report = build_report(systems, data, date=text, resamples=20)
    page = Page(html_report(report))
    assert page.addresses == ["data:,"]
    assert "script" not in page.tags
    MarkdownIt("commonmark").enable("table").parse(markdown_report(report))
    html_report(report).encode()
    markdown_report(report).encode()


def test_report_format_follows_the_suffix(tmp_path: Path) -> None:
    report = small_report()
    for name, start in (
        ("a.html", "<!doctype html>"),
        ("a.HTM", "<!doctype"),
        ("a.md", "# tiny"),
        ("a.markdown", "# tiny"),
    ):
        write_report(tmp_path / name, report)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ArgumentError, match=r"report: must end in .html or .md, got '.*a.pdf'"):
        write_report(tmp_path / "a.pdf", report)


def test_write_report_errors(tmp_path: Path) -> None:
    report = small_report()
    with pytest.raises(
        ArgumentError, match=r"report: cannot be written to '.*nowhere/a.md': No such file or directory"
    ):
        write_report(tmp_path / "nowhere" / "a.md", report)
    with pytest.raises(ArgumentError, match="dataset: must be 'tiny', the outcomes' dataset, got 'other'"):
        build_report(report.outcomes, dataset(8, name="other"))
