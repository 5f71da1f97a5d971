from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from recollect.errors import ArgumentError
from recollect.stores.milvus.address import Address, read_address


def test_a_cluster() -> None:
    assert read_address("milvus://example.org") == Address(
        location="milvus://example.org:19530/default",
        uri="http://example.org:19530",
        database="default",
    )
    assert read_address("milvus://[::1]:7/a%20b?secure=true&consistency=bounded") == Address(
        location="milvus://[::1]:7/a b", uri="https://[::1]:7", database="a b", level="Bounded"
    )
    assert read_address("milvus://notes.db:19530").uri == "http://notes.db:19530"


@pytest.mark.parametrize(
    ("address", "token"),
    [
        ("milvus://ines:s%40cret@h/db", "ines:s@cret"),
        ("milvus://t0ken@h/db", "t0ken"),
        ("milvus://h/db?token=t0ken", "t0ken"),
        ("milvus://h/db", ""),
    ],
)
def test_who_asks_is_kept_out_of_the_location(address: str, token: str) -> None:
    read = read_address(address)
    assert (read.token, read.location) == (token, "milvus://h:19530/db")


def test_a_folder() -> None:
    assert read_address("milvus:///home/a%20b/notes.db?consistency=strong") == Address(
        location="milvus:///home/a b/notes.db", folder=Path("/home/a b/notes.db"), level="Strong"
    )
    assert read_address("milvus:///~/notes.db").folder == Path("~/notes.db").expanduser()


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("milvus://h:x/db", "target: is no address of Milvus"),
        ("milvus://[h/db", "target: is no address of Milvus"),
        ("milvus:///", "target: names neither a server nor a folder; write milvus:///path/name.db"),
        ("milvus:///a%00", "target: names neither a server nor a folder"),
        ("milvus:///a#b.db", "target: is no address of Milvus"),
        ("milvus://h/db?consistency=soon", "target: has consistency=soon; give strong, session, bounded or eventually"),
        ("milvus:///a.db?consistency=", "target: has consistency=; give strong, session, bounded or eventually"),
        ("milvus://h/db?secure=yes", "target: has secure=yes; give true or false"),
        ("milvus://h/db?tls=1", "target: has an option 'tls' that is not known here"),
        (
            "milvus:///a.db?secure=true",
            "target: has an option 'secure' that is not known here; Milvus Lite takes consistency alone",
        ),
        (
            "milvus://notes.db",
            "target: names the server 'notes.db' and its database 'default'; for a folder of this machine, "
            "write milvus:///path/name.db with its whole path",
        ),
        ("milvus://./notes", "target: names the server '.' and its database 'notes'; for a folder of this machine"),
        ("milvus://~/notes", "target: names the server '~'"),
        ("milvus://home/ines/notes", "target: names the server 'home' and its database 'ines/notes'"),
        ("milvus://notes/memory.db", "target: names the server 'notes' and its database 'memory.db'"),
    ],
)
def test_what_cannot_be_meant(address: str, problem: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        read_address(address)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    "password", ["pa/ssw0rd", "1/ssw0rd", "1?ssw0rd", "1?ssw0rd=1", "1?a=1&ssw0rd", "pa#ssw0rd", "1#ssw0rd", "[ssw0rd"]
)
def test_a_password_that_is_taken_for_other_parts_is_not_shown(password: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        read_address(f"milvus://ines:{password}@h:19530/db")
    assert str(raised.value) == (
        "target: is no address of Milvus; write milvus://user:password@host:port/db or milvus:///path/name.db, "
        "with %2F for a slash in the password, %3F for a question mark, %23 for a #"
    )
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert read_address(f"milvus://ines:{quote(password, safe='')}@h/db").token == f"ines:{password}"


@pytest.mark.parametrize("address", ["milvus://h/db?token=ines:s@cret", "milvus://ines:s@cret@h/db"])
def test_an_at_sign_may_stand_in_a_token(address: str) -> None:
    assert read_address(address).token.split(":") == ["ines", "s@cret"]


def test_an_at_sign_may_stand_in_a_folder() -> None:
    assert read_address("milvus:///home/a@b/notes.db").folder == Path("/home/a@b/notes.db")
