"""Who asks, and what they may do: a caller has one right, in some namespaces or in all."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from recollect import arguments
from recollect.errors import ForbiddenError
from recollect.model import DEFAULT_NAMESPACE

__all__ = ["EVERYONE", "Caller", "Grant", "Right"]


class Right(IntEnum):
    """What a caller may do; each right holds those before it.

    >>> Right.named("write") > Right.READ, str(Right.ADMIN)
    (True, 'admin')
    """

    READ = 1
    WRITE = 2
    ADMIN = 3

    @classmethod
    def named(cls, name: Any) -> Self:
        """Return the right of this name: ``read``, ``write`` or ``admin``."""
        return cls[arguments.choice("right", name, [str(right) for right in cls]).upper()]

    def __str__(self) -> str:
        """Return its name."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Grant:
    """A right, and the namespaces where it holds; ``None`` means all of them, also those to come.

    >>> grant = Grant.of(["tea", "coffee"], "write")
    >>> grant.allows("tea", Right.READ), grant.allows("tea", Right.ADMIN), grant.allows("work", Right.READ)
    (True, False, False)
    """

    namespaces: frozenset[str] | None
    right: Right

    @classmethod
    def of(cls, namespaces: Iterable[str] | None, right: Right | str) -> Self:
        """Check both parts and join them."""
        held = right if isinstance(right, Right) else Right.named(right)
        if namespaces is None:
            return cls(None, held)
        listed = sorted(namespaces) if isinstance(namespaces, Set) else namespaces
        return cls(frozenset(arguments.names("namespaces", listed)), held)

    @property
    def everywhere(self) -> bool:
        """Whether it holds in all namespaces."""
        return self.namespaces is None

    def covers(self, namespace: str) -> bool:
        """Return whether it holds in ``namespace`` at all."""
        return self.namespaces is None or namespace in self.namespaces

    def allows(self, namespace: str, right: Right) -> bool:
        """Return whether it holds ``right`` in ``namespace``."""
        return self.right >= right and self.covers(namespace)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks: the name and the id of their key, and what it grants."""

    name: str
    grant: Grant
    id: str = ""
    """The id of the key, which may stand in a log; empty where no key was asked for."""

    def namespace(self, asked: str | None, right: Right) -> str:
        """Return the namespace to use, or raise :class:`ForbiddenError`, before any store is asked whether it exists.

        Where none is asked for, it is the caller's only one, or else ``default``.

        >>> tea = Caller("kettle", Grant.of(["tea"], "read"))
        >>> tea.namespace(None, Right.READ), EVERYONE.namespace(None, Right.ADMIN)
        ('tea', 'default')
        >>> tea.namespace("work", Right.READ)
        Traceback (most recent call last):
        recollect.errors.ForbiddenError: kettle may not read in namespace 'work'; ask for a key that may
        """
        namespace = self._home() if asked is None else arguments.name("namespace", asked)
        if not self.grant.allows(namespace, right):
            raise ForbiddenError(f"{self.name} may not {_DEED[right]} namespace {namespace!r}; ask for a key that may")
        return namespace

    def require_everywhere(self, right: Right) -> None:
        """Raise :class:`ForbiddenError` unless the caller holds ``right`` in all namespaces.

        >>> Caller("kettle", Grant.of(["tea"], "admin")).require_everywhere(Right.ADMIN)
        Traceback (most recent call last):
        recollect.errors.ForbiddenError: kettle does not hold admin in all namespaces; ask for a key that does
        """
        if not (self.grant.everywhere and self.grant.right >= right):
            raise ForbiddenError(f"{self.name} does not hold {right} in all namespaces; ask for a key that does")

    def _home(self) -> str:
        held = self.grant.namespaces
        return next(iter(held)) if held is not None and len(held) == 1 else DEFAULT_NAMESPACE


_DEED = {Right.READ: "read in", Right.WRITE: "write to", Right.ADMIN: "administer"}

EVERYONE = Caller("everyone", Grant(None, Right.ADMIN))
"""The caller where no keys are asked for: one's own machine."""
