"""Find secrets in a text: private keys, tokens, credentials, assigned values and card numbers.

No third-party secret scanner is used. Every pattern here is bounded and possessive, so that the time is linear in the
length of a hostile text, and each kind excludes texts that only look like a secret. Rules distinguish random values
from words, variable names, numbers and placeholders. Entropy alone cannot do that, because passwords are short, and
camelCase names have as much entropy as keys.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from operator import ne
from typing import NamedTuple

import regex

# A change is a place in a value where characters of different classes meet: lower case, upper case, digit or sign.
MIN_LENGTH = 8  # the minimum length of a random value
MIN_CHANGES = 3  # the minimum number of changes in a random value
CHARACTERS_PER_CHANGE = 8  # in a long random value, there is a change at least every 8 characters on average
MIN_LETTERS_ONLY = 12  # the minimum length of a random value of letters only
MAX_WORD_SHARE = 0.6  # words make up less than this share of a random value

_PLACEHOLDER = re.compile(
    r"[<\[{]|\$[A-Za-z_{(]|%[A-Z({]|\*\*|~|\.{1,2}+/|/[a-z_.-]{2,32}+/"
    r"|(?:your|my|the|some|test|none|null)[_-]|(?:example|sample|dummy|fake|change|insert|replace|placeholder)",
    re.IGNORECASE,
)
"""The beginning of a variable, a path, or an example such as ``your_key_here``."""
# An example contains the same character six times in a row, or one of these words.
_EXAMPLE_VALUE = re.compile(r"(.)\1{5}|EXAMPLE|12345678|abcdefgh|redacted", re.IGNORECASE | re.DOTALL)
_LETTER_RUN = re.compile(r"[A-Z]?[a-z]{3,64}+|[A-Z]{4,64}+")  # possibly a word: tea, Tea or TEAS
_FOUR_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{4}", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_DIGEST = re.compile(
    r"(?:0x)?[0-9a-f]{7,128}+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[\w-]{3,12}+:[0-9a-f]{32,128}+",
    re.IGNORECASE,
)
"""The hash of a commit or file, also with a prefix such as ``sha256:``, or a UUID."""


class _CharacterClasses(dict[int, str]):
    """A table for ``str.translate``: lower-case letters become "a", upper-case "A", digits "0", other signs "!"."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isalpha():
            return "A" if character.isupper() else "a"
        return "0" if character.isdigit() else "!"


_CLASSES = _CharacterClasses(dict.fromkeys(map(ord, "_-./+=:~"), ""))  # separators are left out


def looks_random(value: str, *, min_length: int = MIN_LENGTH) -> bool:
    """Return whether a value looks like a real password or key: characters of several classes that form no words."""
    if len(value) < min_length or is_placeholder(value):
        return False
    classes = value.translate(_CLASSES)
    used_classes = set(classes)
    changes = sum(map(ne, classes, classes[1:]))
    word_share = sum(len(run) for run in _LETTER_RUN.findall(value) if _is_word(run)) / len(value)
    if used_classes == {"a", "A"}:  # letters only: the rules are stricter, because variable names look similar
        return len(value) >= MIN_LETTERS_ONLY and changes >= len(value) / 3 and word_share < MAX_WORD_SHARE / 2
    has_letters = bool(used_classes & {"a", "A"})
    has_digits_or_three_classes = "0" in used_classes or len(used_classes) >= 3
    if not has_letters or not has_digits_or_three_classes:
        return False
    return changes >= max(MIN_CHANGES, len(value) / CHARACTERS_PER_CHANGE) and word_share < MAX_WORD_SHARE


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder or an example, such as ``${API_KEY}`` or ``your_key_here``."""
    return bool(_PLACEHOLDER.match(value) or _EXAMPLE_VALUE.search(value))


def _is_word(run: str) -> bool:
    """Return whether letters can be pronounced: at most three consonants in a row, and a vowel per six letters."""
    return not _FOUR_CONSONANTS.search(run) and len(_VOWEL.findall(run)) * 6 >= len(run)


class Secret(NamedTuple):
    """The span and the kind of a secret in a text; without its value, which could be printed by mistake."""

    start: int
    end: int
    kind: str


_KEY_BEGIN = re.compile(r"-----BEGIN (?:RSA |DSA |EC |OPENSSH |ENCRYPTED |PGP |ANY )?PRIVATE KEY(?: BLOCK)?-----")
# What follows the line BEGIN: any text up to the line END, or else lines of base 64, perhaps with escaped line ends.
# The library regex is used because re of Python 3.11.2 loses its position in such possessive groups.
_WHOLE_KEY = regex.compile(r"(?:[^-]|-(?!----)){0,65536}+-----END [A-Z ]{0,40}+-----")
_TRUNCATED_KEY = regex.compile(
    r"(?:(?:\s|\\[nr]){0,4}+[A-Za-z0-9+/=]{16,128}+){0,1024}+(?:(?:\s|\\[nr]){0,4}+[A-Za-z0-9+/]{1,63}+={1,2}+)?+"
)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40}")  # 40 characters in base 64


def find_private_keys(text: str) -> Iterator[Secret]:
    """Yield private keys in PEM format, even if they are truncated; a line BEGIN without a key does not count."""
    for begin in _KEY_BEGIN.finditer(text):
        body = _WHOLE_KEY.match(text, begin.end()) or _TRUNCATED_KEY.match(text, begin.end())
        if body and _KEY_LINE.search(body[0]):
            yield Secret(begin.start(), body.end(), "private key")


class _TokenFormat(NamedTuple):
    """How the tokens of one issuer look."""

    kind: str
    prefixes: tuple[str, ...]  # a text without any of these is not searched
    pattern: re.Pattern[str]
    check: Callable[[str], bool]  # a condition that the token must fulfil besides the pattern


def _token(
    kind: str, prefixes: str, pattern: str, check: Callable[[str], bool] = lambda _: True, *, after: str = ""
) -> _TokenFormat:
    """Return the format of tokens that match ``pattern`` at the beginning of a word, or after ``after``.

    If all prefixes are longer than three characters and end with an underscore, a token may also begin within a word.
    """
    parts = tuple(prefixes.split())
    start = f"(?:(?<![A-Za-z0-9])|(?<={after}))" if after else "(?<![A-Za-z0-9])"
    if all(prefix.endswith("_") and len(prefix) > 3 for prefix in parts):
        start = ""
    return _TokenFormat(kind, parts, re.compile(rf"{start}(?:{pattern})(?![A-Za-z0-9])"), check)


TOKEN_FORMATS = (
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
    _token("Telegram token", ":AA", r"[0-9]{8,10}+:AA[A-Za-z0-9_-]{33}+", after="/bot"),
    _token(
        "JSON web token",
        "eyJ",
        r"(?<![_-])eyJ[A-Za-z0-9_-]{8,2000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{16,2000}+",
    ),
)


def find_tokens(text: str) -> Iterator[Secret]:
    """Yield tokens with an issuer's prefix, except examples from documentation."""
    for token in TOKEN_FORMATS:
        if any(prefix in text for prefix in token.prefixes):
            for match in token.pattern.finditer(text):
                value = match[0]
                is_within_word = text[max(0, match.start() - 1) : match.start()].isalnum()
                if not is_placeholder(value) and token.check(value) and (not is_within_word or looks_random(value)):
                    yield Secret(*match.span(), token.kind)


_IN_URL = re.compile(  # ://user:password@ or ://token@
    r"://(?:[^\s/:@\"'<>]{0,100}+:(?P<password>[^\s/@\"'<>]{3,200}+)|(?P<token>[^\s/:@\"'<>]{16,200}+))@"
)
_IN_HEADER = re.compile(  # Bearer token, or Basic and user:password in base 64
    r"\b(?:bearer[ \t]{1,4}+(?P<bearer>[A-Za-z0-9._~+/-]{16,4000}+)"
    r"|basic[ \t]{1,4}+(?P<basic>[A-Za-z0-9+/]{8,1000}+={0,2}+))",
    re.IGNORECASE,
)
_EXAMPLE_PASSWORDS = frozenset("pass passwd password pw pwd secret token key user username".split())  # in URLs


def find_credentials(text: str) -> Iterator[Secret]:
    """Yield passwords and tokens in URLs, and the credentials after the words Bearer and Basic."""
    if "://" in text and "@" in text:
        for match in _IN_URL.finditer(text):
            password = match["password"]
            if password is not None and not is_placeholder(password) and password.lower() not in _EXAMPLE_PASSWORDS:
                yield Secret(*match.span("password"), "password in a URL")
            elif password is None and looks_random(match["token"]):
                yield Secret(*match.span("token"), "token in a URL")
    for match in _IN_HEADER.finditer(text):
        if match["bearer"] is not None and looks_random(match["bearer"], min_length=16):
            yield Secret(*match.span("bearer"), "bearer token")
        elif match["basic"] is not None and _is_basic_pair(match["basic"]):
            yield Secret(*match.span("basic"), "basic credentials")


def _is_basic_pair(value: str) -> bool:
    """Return whether a value is ``user:password`` in base 64, and not the next word of a sentence."""
    try:
        user, colon, password = b64decode(value, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError):
        return False
    return bool(user and colon and password) and (user + password).isprintable()


KEY = "key or token"  # the kind of secrets that are assigned to a name, except passwords
MIN_TOKEN_LENGTH = 16  # the minimum length of a random value that is assigned to the name of a token

_NAME_PARTS = ("pass", "pwd", "wachtwoord", "kennwort", "secret", "key", "token", "credential")
"""Every match of :data:`_NAME` contains one of these; a text without them is not searched."""
_NAME = (
    r"(?:(?P<password>pass(?:word|wort|wd|phrase|code)|pwd|wachtwoord|kennwort|mot[ _-]de[ _-]passe)"
    r"|(?P<key>(?:api|access|secret|private|account|encryption|signing|auth|master)[ _-]?key|secret)"
    r"|(?P<token>token|credentials?))"
)
_NAME_AT_END = re.compile(rf"{_NAME}\Z", re.IGNORECASE)
_UNQUOTED = r"[^\s\"'`,;<>(){}\[\]\\=]"  # a character of a value without quotes
_SIGN = (
    r"[*_]{0,3}+[ \t\u00a0\u202f]{0,8}+(?::=|=>|[:=])(?:[*_]{1,3}+[ \t]{1,8}+|[ \t]{0,8}+(?:\r?+\n[ \t]{0,8}+)?)"
    r"|[ \t]{0,8}+\|(?!\|)[ \t]{0,8}+"
    r"|[*_]{0,3}+[ \t]{1,4}+[\u2014\u2013-][ \t]{1,4}+"
    r"|[ \t]{1,4}+(?:is|ist|est)[ \t:]{1,4}+"
)
"""The text between a name and its value: ``:`` or ``=``, perhaps with a line end; or a table border, dash or verb."""
_ASSIGNED = re.compile(
    _NAME + rf"(?:\\?[\"'`])?(?:{_SIGN})"
    r"(?:[bru]{1,2}+(?=[\"']))?(?:\\?[\"'`](?P<quoted>[^\"'`\s\\]{8,512}+)(?=\\?[\"'`])"
    rf"|(?P<unquoted>{_UNQUOTED}{{8,512}}+(?:={{1,2}}+(?!\w))?)(?![(\[]))",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}+(?:\.[A-Za-z_]\w{0,63}+){1,8}+")  # such as settings.api_key


def find_assignments(text: str) -> Iterator[Secret]:
    """Yield the values that are assigned to the name of a secret, such as ``api_key: …``, and look random."""
    lowered = text.lower()
    if not any(part in lowered for part in _NAME_PARTS):
        return
    position = 0
    while match := _ASSIGNED.search(text, position):
        group = "unquoted" if match["quoted"] is None else "quoted"
        start, value = match.start(group), match[group]
        if group == "unquoted":
            if "&" in value and text.startswith("=", match.end()):  # & begins the next parameter of a URL
                value = value.rpartition("&")[0]
            value = value.rstrip(".:*|")  # the end of a sentence, of emphasis or of a table cell
        kind = _assigned_kind(match, value)
        position = start  # a value that is no secret may be the name of the next value
        if kind and (group == "quoted" or not _VARIABLE.fullmatch(value)):
            position = start + len(value)
            yield Secret(start, position, kind)


def kind_of_value(name: str, value: str) -> str:
    """Return the kind of the secret ``value`` in a field called ``name``; "" if the value is no secret."""
    match = _NAME_AT_END.search(name)
    return _assigned_kind(match, value) if match else ""


def _assigned_kind(match: re.Match[str], value: str) -> str:
    """Return the kind of a secret; "" if ``value`` is no secret. ``match`` is the match of its name (:data:`_NAME`)."""
    if match["token"] is not None:  # many tokens are no secrets: page tokens, hashes of commits and files
        return KEY if looks_random(value, min_length=MIN_TOKEN_LENGTH) and not _DIGEST.fullmatch(value) else ""
    if not looks_random(value):
        return ""
    return "password" if match["password"] is not None else KEY


# Each pattern of a card number has one group: the separator between the groups of digits, which may be empty.
_SEPARATOR = r"(  |[ \-\t\n\u00a0\u2009\u202f])"
_SEPARATOR_OR_DOT = r"(  |[ \-\t\n.\u00a0\u2009\u202f])"
_CARD_START = r"(?<![\w.,+/-])(?<![0-9]{4}[ -])"  # not within a word, a decimal or a longer number
_CARD_END = r"(?![\w/]|[.,-][0-9]|[ -][0-9]{4}(?![0-9]))"
_NO_MORE_GROUPS = rf"(?!\1[0-9]{{4}}(?![0-9])){_CARD_END}"
_CARD_NUMBERS = (
    re.compile(rf"{_CARD_START}()[0-9]{{13,19}}+(?!-){_CARD_END}"),
    re.compile(rf"{_CARD_START}[0-9]{{4}}{_SEPARATOR_OR_DOT}[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}{_NO_MORE_GROUPS}"),
    re.compile(rf"{_CARD_START}[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{3}}{_NO_MORE_GROUPS}"),
    re.compile(rf"{_CARD_START}[0-9]{{4}}{_SEPARATOR_OR_DOT}[0-9]{{6}}\1[0-9]{{5}}{_NO_MORE_GROUPS}"),
    re.compile(rf"{_CARD_START}[0-9]{{4}}{_SEPARATOR}[0-9]{{6}}\1[0-9]{{4}}{_NO_MORE_GROUPS}"),
)
"""Numbers without separators, or in the groups that are printed on cards; other groups are no card number."""

# By issuer: the first digits of card numbers, how many digits these are, and how many digits card numbers may have.
_ISSUERS: tuple[tuple[range, int, frozenset[int]], ...] = (
    (range(4, 5), 1, frozenset((13, 16, 19))),  # Visa
    (range(51, 56), 2, frozenset((16,))),  # Mastercard
    (range(2221, 2721), 4, frozenset((16,))),
    (range(34, 35), 2, frozenset((15,))),  # American Express
    (range(37, 38), 2, frozenset((15,))),
    (range(6011, 6012), 4, frozenset((16, 19))),  # Discover
    (range(644, 660), 3, frozenset((16, 19))),
    (range(3528, 3590), 4, frozenset((16, 19))),  # JCB
    (range(300, 306), 3, frozenset((14,))),  # Diners Club
    (range(36, 37), 2, frozenset((14,))),
    (range(38, 40), 2, frozenset((14,))),
    (range(62, 63), 2, frozenset((16, 17, 18, 19))),  # UnionPay
)


def find_cards(text: str) -> Iterator[Secret]:
    """Yield payment card numbers: with the length and first digits of an issuer, and a valid check digit."""
    for pattern in _CARD_NUMBERS:
        for match in pattern.finditer(text):
            digits = re.sub("[^0-9]", "", match[0])
            is_issued = any(int(digits[:width]) in starts and len(digits) in sizes for starts, width, sizes in _ISSUERS)
            if is_issued and has_valid_check_digit(digits) and not _follows_digit_group(text, match):
                yield Secret(*match.span(), "card number")


def has_valid_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others (Luhn, US patent 2,950,048, 1960)."""
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _follows_digit_group(text: str, match: re.Match[str]) -> bool:
    """Return whether four digits and the separator of a match precede the match, as in a table of numbers."""
    separator = match[1]
    length = len(separator) + 4
    before = text[max(0, match.start() - length) : match.start()]
    return bool(separator) and before.endswith(separator) and before[:4].isdecimal() and len(before) == length


_FINDERS: tuple[Callable[[str], Iterator[Secret]], ...] = (
    find_private_keys,
    find_tokens,
    find_credentials,
    find_assignments,
    find_cards,
)
"""The most specific finder comes first: overlapping secrets get the kind of the first finder."""


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, by position; overlapping secrets are merged."""
    # The order is the index of the finder: the lower, the more specific.
    matches = [(secret, order) for order, finder in enumerate(_FINDERS) for secret in finder(text)]
    merged: list[tuple[Secret, int]] = []
    for secret, order in sorted(matches):
        if merged and secret.start < merged[-1][0].end:
            last, last_order = merged[-1]
            kind = secret.kind if order < last_order else last.kind
            merged[-1] = Secret(last.start, max(last.end, secret.end), kind), min(order, last_order)
        else:
            merged.append((secret, order))
    return [secret for secret, _ in merged]
