"""Tokens that show by themselves whose they are: issuers give them a beginning, so that they can be found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recollect.secrets.randomness import is_placeholder, looks_random
from recollect.secrets.secret import Secret

__all__ = ["TOKENS", "find_tokens"]


class _Token(NamedTuple):
    kind: str
    beginnings: tuple[str, ...]
    """A text that holds none of these is not looked at."""
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]
    """What must be true of it, too."""


def _token(
    kind: str, beginnings: str, pattern: str, holds: Callable[[str], bool] = lambda _: True, *, behind: str = ""
) -> _Token:
    """Return a kind of token; it stands alone, or ``behind`` something that leads to it.

    Within a longer word it is seen only where its beginning is long and ends in a sign, which few words hold.
    """
    begin = tuple(beginnings.split())
    alone = f"(?:(?<![A-Za-z0-9])|(?<={behind}))" if behind else "(?<![A-Za-z0-9])"
    if all(each.endswith("_") and len(each) > 3 for each in begin):
        alone = ""
    return _Token(kind, begin, re.compile(rf"{alone}(?:{pattern})(?![A-Za-z0-9])"), holds)


TOKENS = (
    _token("AWS access key", "AKIA ASIA", r"A[KS]IA[A-Z2-7]{16}"),
    _token(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}+|github_pat_[A-Za-z0-9_]{30,255}+",
    ),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft)-[A-Za-z0-9_-]{20,300}+(?:\.[A-Za-z0-9_-]{1,20}+){0,3}+",
    ),
    _token("Slack token", "xox xapp-", r"xox[abeoprs]-[0-9][A-Za-z0-9-]{10,250}+|xapp-[0-9]-[A-Za-z0-9-]{20,250}+"),
    _token("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{8,9}+/[A-Za-z0-9/_-]{20,120}+"),
    _token("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}+"),
    _token("Google token", "ya29. GOCSPX-", r"ya29\.[A-Za-z0-9_-]{20,500}+|GOCSPX-[A-Za-z0-9_-]{28}+"),
    _token(
        "Stripe key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+|whsec_[A-Za-z0-9]{24,250}+",
    ),
    _token("Recollect key", "rk_", r"rk_(?!live_|test_)[A-Za-z0-9]{4,64}+_[A-Za-z0-9_-]{43}+"),
    _token("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,250}+"),
    _token("OpenAI key", "sk-", r"sk-(?!ant-)[A-Za-z0-9_-]{20,250}+", looks_random),
    _token("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,60}+", looks_random),
    _token("npm token", "npm_", r"npm_[A-Za-z0-9]{36}+", looks_random),
    _token("PyPI token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,400}+", looks_random),
    _token("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{32,64}+"),
    _token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[por]_v1_[a-f0-9]{64}+"),
    _token("Telegram token", ":AA", r"[0-9]{8,10}+:AA[A-Za-z0-9_-]{33}+", behind="/bot"),
    _token(
        "JSON web token",
        "eyJ",
        r"(?<![_-])eyJ[A-Za-z0-9_-]{8,2000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{16,2000}+",
    ),
)


def find_tokens(text: str) -> Iterator[Secret]:
    """Yield the tokens in a text, but for those that manuals print."""
    for token in TOKENS:
        if any(beginning in text for beginning in token.beginnings):
            for found in token.pattern.finditer(text):
                glued = text[max(0, found.start() - 1) : found.start()].isalnum()
                if not is_placeholder(found[0]) and token.holds(found[0]) and (not glued or looks_random(found[0])):
                    yield Secret(*found.span(), token.kind)
