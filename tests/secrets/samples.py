"""Secrets that nobody owns, made when the tests run: no file of the repository holds one."""

from __future__ import annotations

import string
from base64 import b64encode
from random import Random

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
_dice = Random(20260418)  # noqa: S311 (they are to be the same every time)


def thrown(count: int, letters: str = LETTERS) -> str:
    return "".join(_dice.choice(letters) for _ in range(count))


def key_block(kind: str, end: str = "\n", *, headers: str = "", cut: bool = False) -> str:
    body = end.join(thrown(64, LETTERS + "+/") for _ in range(12))
    begin, rest = "-----BEGIN " + kind, "" if cut else f"{end}{thrown(20)}=={end}-----END {kind}-----"
    return f"{begin}-----{end}{headers}{body}{rest}"


def card(prefix: str, length: int) -> str:
    """Return a number of this length with the right last digit."""
    digits = prefix + thrown(length - len(prefix) - 1, string.digits)
    total = sum(int(d) if place % 2 else sum(divmod(2 * int(d), 10)) for place, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def grouped(digits: str) -> str:
    return " ".join(digits[place : place + 4] for place in range(0, len(digits), 4))


SECRETS: list[tuple[str, str, str]] = [
    # kind, the text around it with {} in its place, the secret
    ("AWS access key", "Use {} for the bucket.", "AKI" + "A" + thrown(16, BASE32)),
    ("AWS access key", "({})", "ASI" + "A" + thrown(16, BASE32)),
    ("GitHub token", "git clone with {}.", "gh" + "p_" + thrown(36)),
    ("GitHub token", "{}", "gh" + "s_" + thrown(36)),
    ("GitHub token", "It is {}", "github" + "_pat_" + thrown(22) + "_" + thrown(59)),
    ("GitLab token", "PRIVATE-TOKEN: {}", "glpa" + "t-" + thrown(20)),
    ("GitLab token", "new: {}, soon", "glpa" + "t-" + thrown(27) + ".01." + thrown(9)),
    ("Slack token", "bot {}", "xox" + "b-" + thrown(12, "123456789") + "-" + thrown(24)),
    ("Slack token", "app {}", "xap" + "p-1-A" + thrown(30)),
    ("Slack webhook", "https://{} posts", "hooks.slack" + f".com/services/T{thrown(8)}/B{thrown(8)}/{thrown(24)}"),
    ("Google API key", "maps?key={}", "AIz" + "a" + thrown(35)),
    ("Google token", "{}", "ya2" + "9." + thrown(60)),
    ("Google token", "{}", "GOC" + "SPX-" + thrown(28)),
    ("Stripe key", "{}", "sk_" + "live_" + thrown(24)),
    ("Stripe key", "{}", "rk_" + "test_" + thrown(24)),
    ("Stripe key", "{}", "whs" + "ec_" + thrown(32)),
    ("Recollect key", "{}", "rk" + "_" + thrown(12) + "_" + thrown(43)),
    ("OpenAI key", "{}", "sk" + "-" + thrown(48)),
    ("OpenAI key", "{}", "sk" + "-proj-" + thrown(100)),
    ("Anthropic key", "{}", "sk" + "-ant-api03-" + thrown(93)),
    ("Hugging Face token", "{}", "hf" + "_" + thrown(34)),
    ("npm token", "{}", "np" + "m_" + thrown(36)),
    ("PyPI token", "{}", "pyp" + "i-" + thrown(120)),
    ("SendGrid key", "{}", "S" + "G." + thrown(22) + "." + thrown(43)),
    ("DigitalOcean token", "{}", "dop" + "_v1_" + thrown(64, HEX)),
    ("Telegram token", "bot{}"[3:], thrown(9, "123456789") + ":A" + "A" + thrown(33)),
    ("JSON web token", "cookie={}; path=/", ".".join(("ey" + "J" + thrown(33), "ey" + "J" + thrown(80), thrown(43)))),
    ("password in a URL", "postgres://app:{}@db.local:5432/x", thrown(12)),
    ("password in a URL", "https://ines:{}@example.com/feed", "tea" + "pot"),
    ("token in a URL", "https://{}@git.example.com/x.git", thrown(30)),
    ("bearer token", "Authorization: Bearer {}", thrown(40)),
    ("basic credentials", "authorization: basic {}", b64encode(b"ines:tea" + b"pot").decode()),
    ("password", "password = {}", thrown(14)),
    ("password", "DB_PASSWORD='{}'", thrown(16) + "&9"),
    ("password", '{{"db": {{"pwd": "{}"}}}}', thrown(12)),
    ("password", '{{\\"passwd\\": \\"{}\\"}}', thrown(12)),
    ("password", "The wifi password is {}.", "Tr0" + "ub4dor&3"),
    ("password", "passphrase: `{}`", thrown(20)),
    ("password", "password := {}, then", "P@s" + "sw0rd"),
    ("key or token", "api_key: {}", thrown(32, HEX)),
    ("key or token", "export OPENAI_API_KEY={}", thrown(32)),
    ("key or token", "aws_secret_access_key = {}", thrown(40, LETTERS + "/+")),
    ("key or token", "client_secret => '{}'", thrown(24)),
    ("key or token", "SECRET_KEY = b'{}'", thrown(30)),
    ("key or token", "https://example.com/?token={}&page=2", thrown(24)),
    ("key or token", "the api key is {}", thrown(24)),
    ("password", "?token=abcdefghijkl&password={}&x=1", thrown(9) + "7xQ"),
    ("password", "password = '{}'", "kVq" + "TxWbJrMzN"),
    ("password", "password: api_key: user password: {}", thrown(22) + "=="),
    ("password", "Passwort/password: {}: so", "gr" + "Ün7tee9X4"),
    ("card number", "Visa {}, expires 04/29", card("4", 16)),
    ("card number", "{}", card("4", 13)),
    ("card number", "{}", card("4", 19)),
    ("card number", "Mastercard {}.", card("52", 16)),
    ("card number", "{}", card("2300", 16)),
    ("card number", "{}", card("37", 15)),
    ("card number", "{}", card("6011", 16)),
    ("card number", "{}", card("3530", 16)),
    ("card number", "{}", card("36", 14)),
    ("card number", "{}", card("62", 17)),
    ("card number", "card: {}", "4111 1111 " + "1111 1111"),
    ("card number", "card: {}", "3782-822463" + "-10005"),
    ("card number", "room 12 {} 04/29, 123", "4111 1111 " + "1111 1111"),
    ("card number", "{} 123", "4111-1111" + "-1111-1111"),
    ("card number", "{}", grouped(card("4", 19))),
    ("private key", "My key:\n{}\nKeep it.", key_block("RSA PRIVATE KEY")),
    ("private key", "{}", key_block("PRIVATE KEY")),
    ("private key", "{}", key_block("OPENSSH PRIVATE KEY")),
    ("private key", "{}", key_block("PGP PRIVATE KEY BLOCK", headers="Version: 2\n\n")),
    ("private key", "{}", key_block("EC PRIVATE KEY", headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n")),
    ("private key", '{{"key": "{}\\n"}}', key_block("PRIVATE KEY", "\\n")),
    ("private key", "{}\n\nand what follows it", key_block("PRIVATE KEY", cut=True)),
]

HARMLESS = [
    "",
    "commit 41f4ec1a2b3c4d5e6f708192a3b4c5d6e7f80912 by Ines",
    "git show 41f4ec1",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "550e8400-e29b-41d4-a716-446655440000",
    "id = 0197a3c2-7f10-7abc-8def-0123456789ab",
    "token: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "token = 550e8400-e29b-41d4-a716-446655440000",
    "Call +49 170 1234567 or (030) 901820, or 0041 44 668 18 00.",
    "+4111 1111 1111 1111 is no card but a phone",
    "1700000000000 milliseconds, 1776600000.123456 seconds",
    "pi is 3.14159265358979323846, a third 0.4111111111111111",
    "ISBN 978-3-16-148410-0 and EAN 9783161484100",
    "1234 5678 9012 3456",
    "4111 1111 1111 1112",
    "41111 11111 11111 1",
    "4111 1111 1111 1111 1111 1111",
    "2023 4111 1111 1111 1111",
    "4111 1111-1111 1111",
    "4111111111111111-17",
    "order/4111111111111111/items",
    "5500000000000004" + "7",
    "9" * 400,
    "password = input()",
    "password = getpass.getpass('Password: ')",
    "api_key = os.environ['API_KEY']",
    "api_key = settings.services.v2.key",
    "secret = config.secrets.v2",
    "self.password = password",
    "password: str | None = None",
    "password = await prompt2FA(user)",
    "const token = jwt.sign(payload, key1)",
    "token = tokens[0]",
    "token = tokenizer.encode('x')",
    "if password == expected1Password2:",
    "private_key = rsa.generate_private_key(65537, 2048)",
    "private_key = ~/.ssh/id_ed25519",
    "secret: /run/secrets/db_password_2",
    "password: ./config/dev.key1",
    "api_key: ${API_KEY1}",
    "api_key: your_api_key_1A",
    "API_KEY={{ secrets.API_KEY_2 }}",
    "api_key: xxxxxxxxxxxxxxxx1A",
    "password: changeme1!A",
    "password: example-P4ssw0rd",
    "password=hunter2",
    "password: 12345678",
    "passcode: 1234-5678-90",
    "password: correct-horse-battery-staple",
    "password: userPassword2",
    "password = getUserNameFromForm",
    "password: %(DB_PASSWORD1)s",
    "password: ***hidden2Day***",
    "Token: user_session_token_v2",
    "next_page_token: abc1",
    "PASSWORD_HASHERS = ['django.contrib.auth.hashers.PBKDF2PasswordHasher']",
    "password_changed_at: 2026-04-18T10:11:12.131415Z",
    "access key: Alt+Shift+K",
    "the secret of good tea is 80 degrees",
    "The api key is stored in the vault.",
    "keyboard: QWERTZ12",
    "https://user:password@example.com, https://user:${PASS}@host, https://localhost:8080/@ines",
    "http://example.com:8080/a@b and mailto:ines@example.com",
    "https://some-organisation-name@dev.azure.com/x",
    "Basic understanding of tea, basic knowledge, basic dGVhcG90 here",
    "basic " + b64encode(b"\xff\xfe\xfd\xfc\xfb\xfa").decode(),
    "bearer of bad news and internationalisation, Bearer <token>, bearer your_access_token_here",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "a file that begins with -----BEGIN RSA PRIVATE KEY----- is a key",
    "-----BEGIN CERTIFICATE-----\n" + thrown(64) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + thrown(64) + "\n-----END PUBLIC KEY-----",
    "AKI" + "AIOSFODNN7EXAMPLE",
    "XAKI" + "A" + thrown(16, BASE32),
    "sk-learn-pipeline-with-many-long-words-in-it",
    "sk" + "-xxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp" + "_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "pk_" + "live_" + thrown(24),
    "hf_hub_download_from_the_internet_please",
    "npm_config_registry_of_our_own_company_x",
    "pypi-" + "-".join(["package", "with", "a", "very", "long", "name"] * 3),
    "eyJ is how a JSON object begins in base 64",
]
