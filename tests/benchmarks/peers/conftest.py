from __future__ import annotations

import pytest
from benchmarks.peers.corpus import Corpus, generated_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return 300 generated notes with 12 queries."""
    return generated_corpus(tmp_path_factory.mktemp("corpora"), 300, queries=12)
