"""The examples in README and docs are tests: every Python block is run."""

from doctest import NORMALIZE_WHITESPACE

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE), SkipParser()],
    patterns=["*.md"],
).pytest()
