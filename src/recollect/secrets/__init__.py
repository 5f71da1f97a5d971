"""Secrets that should not be stored: found in what is written, and refused or redacted before anything else happens.

One kind a file: each knows what such a secret looks like, and what only looks so. All patterns are bounded and give
nothing back that they took, so that no text, whoever wrote it, takes longer than its length.
"""

from __future__ import annotations

from recollect.secrets.finding import find_secrets, redacted
from recollect.secrets.screening import MODES, Screen, SecretsMode
from recollect.secrets.secret import Secret

__all__ = ["MODES", "Screen", "Secret", "SecretsMode", "find_secrets", "redacted"]
