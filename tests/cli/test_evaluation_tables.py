from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.cli import terminal
from recollect.cli.evaluation_tables import print_outcomes
from recollect.evaluation import trust_metrics
from tests.evaluation.outcomes import dataset, outcome


def test_trust_table_shows_systems_with_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    unknown, data = outcome("old", {"any@1": [1.0, 1.0]}), dataset(2)
    print_outcomes(terminal.console(), data, [unknown])
    assert "trust" not in capsys.readouterr().out
    rankings = {name: replace(ranking, confidences=(0.8,)) for name, ranking in unknown.rankings.items()}
    known = replace(unknown, system="new", trust=trust_metrics(data.questions, rankings, 0.9))
    print_outcomes(terminal.console(), data, [unknown, known])
    printed_lines = capsys.readouterr().out.splitlines()
    assert printed_lines[-2].split()[:2] == ["trust", "threshold"]
    # Two right first hits, both of a confidence of 0.8, which is below 0.9
    assert printed_lines[-1].split() == ["new", "0.9", "1.000", "1.000", "–", "0.200", "0.200–0.200"]
