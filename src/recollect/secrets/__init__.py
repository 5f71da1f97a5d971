"""Find secrets in notes before they are stored, and refuse or redact them."""

from __future__ import annotations

from recollect.secrets.filter import MODES, SecretFilter, SecretsMode, redact
from recollect.secrets.patterns import Secret, find_secrets

__all__ = ["MODES", "Secret", "SecretFilter", "SecretsMode", "find_secrets", "redact"]
