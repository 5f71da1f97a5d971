from __future__ import annotations

import grpc
import pytest
from pymilvus.exceptions import MilvusException

from recollect.errors import StoreDamagedError, StoreError, StoreUnavailableError
from recollect.stores.milvus.failures import failure


class RpcError(Exception):
    """An error of gRPC, as a call raises it."""

    def __init__(self, status: grpc.StatusCode, said: str) -> None:
        super().__init__(f"<_InactiveRpcError of RPC that terminated with:\n\tstatus = {status}>")
        self._status, self._said = status, said

    def code(self) -> grpc.StatusCode:
        return self._status

    def details(self) -> str:
        return self._said


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            RpcError(grpc.StatusCode.UNAVAILABLE, "connection\n refused"),
            StoreUnavailableError,
            "cannot be reached; check that the server runs, and its host and port (connection refused)",
        ),
        (
            MilvusException(grpc.StatusCode.UNAVAILABLE, "Retry timeout: 60s"),
            StoreUnavailableError,
            "cannot be reached; check that the server runs, and its host and port (Retry timeout: 60s)",
        ),
        (
            RpcError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"),
            StoreUnavailableError,
            "did not answer in time; try again (Deadline Exceeded)",
        ),
        (
            RpcError(grpc.StatusCode.PERMISSION_DENIED, "no right to read"),
            StoreError,
            "does not let this user in; check the user and the password, or the token (no right to read)",
        ),
    ],
)
def test_a_cluster(error: Exception, kind: type[StoreError], message: str) -> None:
    ours = failure("milvus://h:1/db", error)
    assert (type(ours), str(ours)) == (kind, f"milvus://h:1/db {message}")
    assert str(failure("milvus://h:1/db", MilvusException(1, "Parquet"), loading=True)) == "milvus://h:1/db: Parquet"


def test_lite() -> None:
    def told(code: int, said: str, *, loading: bool) -> str:
        ours = failure("f", MilvusException(code, said), lite=True, loading=loading)
        assert isinstance(ours, StoreDamagedError) == ("damaged" in str(ours))
        return str(ours)

    assert told(1, "EOF", loading=True) == "f is damaged and cannot be read; restore a backup (EOF)"
    assert told(1, "EOF", loading=False) == "f: EOF"
    assert told(6, "no such field", loading=True) == "f: no such field"
    assert told(1, "[Errno 13] Permission denied", loading=True) == "f: [Errno 13] Permission denied"
    for said in ("Could not open Parquet input source", "Couldn't deserialize thrift", "Corrupt snappy data"):
        assert told(1, said, loading=False) == f"f is damaged and cannot be read; restore a backup ({said})"
    # There is no server, so there is no host to check either.
    assert told(2, "Fail connecting", loading=False) == "f: Fail connecting"
