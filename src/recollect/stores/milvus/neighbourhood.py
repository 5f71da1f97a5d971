"""What lies one step from a note: what is beside it, linked, mentioned, or about the same entities.

All of it is in the directory, but for the mentions, which are found in the texts when first asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from recollect.model import Edge, Filters
from recollect.stores.entities import MOST_SHARING
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.mentions import mentions_at
from recollect.stores.milvus.searching import View
from recollect.stores.rows import folded_name
from recollect.stores.steps import BESIDE, DERIVED, FEW_LINKS, Step, gathered, links_among
from recollect.stores.supersession import SUPERSEDED_BY, SUPERSESSION_KINDS, follow, without_cycles

if TYPE_CHECKING:
    from recollect.stores.milvus.reading import Reader
    from recollect.stores.milvus.rows import Header

__all__ = ["edges", "steps", "successors"]


def edges(
    reader: Reader, directory: Directory, ids: Sequence[str], reach: int = 1, kinds: Collection[str] | None = None
) -> list[Edge]:
    """Return every connection of the notes with these ids, or those of some kinds, each once."""
    with directory.lock:
        keys = [directory.ids[each] for each in ids if each in directory.ids]
        found = steps(reader, directory, keys, reach, kinds)
        names = directory.notes
        return [Edge(names[step.source].id, names[step.target].id, *step[2:]) for step in found]


def successors(
    reader: Reader, directory: Directory, ids: Sequence[str], created_before: datetime | None
) -> dict[str, tuple[str, ...]]:
    """Return what supersedes the notes with these ids, directly and along their chains.

    Links are in memory; only ``created_before`` needs a query for each step of the chain.
    """
    filters = Filters(created_before=created_before)

    def direct(notes: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for edge in edges(reader, directory, notes, kinds=SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                found.setdefault(edge.source, []).append(edge.target)
        if filters and found:
            keys = [directory.ids[target] for targets in found.values() for target in targets]
            earlier = {directory.notes[key].id for key in View(reader, directory).passing(keys, filters)}
            found = {note: [target for target in targets if target in earlier] for note, targets in found.items()}
        return found

    with directory.lock:
        return without_cycles(follow((note for note in ids if note in directory.ids), direct))


def steps(
    reader: Reader,
    directory: Directory,
    notes: Sequence[int],
    reach: int = 1,
    kinds: Collection[str] | None = None,
) -> list[Step]:
    """Return every connection of these notes, or those of some kinds, each once, by note, and those of one by kind."""
    with directory.lock:
        around = _Around(directory, directory.hidden(reader.now))
        asked = [note for note in dict.fromkeys(notes) if note not in around.hidden]
        searches: list[Iterator[Step]] = []
        if kinds is None or not BESIDE.isdisjoint(kinds):
            searches.append(around.beside(asked, max(reach, 0)))
        links = None if kinds is None else set(kinds) - DERIVED
        few = None if links is None else list(islice(around.links(links), FEW_LINKS + 1))
        if few is not None and len(few) <= FEW_LINKS:
            meant = {target: note for *_, target in few if (note := around.meant(target)) is not None}
            searches.append(links_among(asked, few, meant))
        else:
            searches += around.linked(asked, links), around.linking(asked, links)
        if asked and (kinds is None or "mention" in kinds):
            searches.append(mentions_at(reader, directory).steps(asked))
        if kinds is None or "entity" in kinds:
            searches.append(around.sharing(asked))
        return [step for step in gathered(asked, searches, kinds) if step.target not in around.hidden]


class _Around:
    """The notes that can be seen, and what connects them."""

    def __init__(self, directory: Directory, hidden: Collection[int]) -> None:
        self.hidden = hidden
        self._directory = directory
        self._sessions: dict[str, list[tuple[int, int]]] = {}
        self._meant: dict[str, int | None] = {}

    def beside(self, notes: Sequence[int], reach: int) -> Iterator[Step]:
        """Find the notes before and behind in a conversation or document, the nearest first."""
        for note in notes:
            session, position = self._directory.notes[note][4:6]
            if not session or position is None:
                continue
            places = self._session(session)
            at, after = bisect_left(places, (position, note)), bisect_right(places, (position, note))
            for distance, (_, other) in enumerate(reversed(places[max(at - reach, 0) : at]), start=1):
                yield Step(note, other, "previous", "out", distance)
            for distance, (_, other) in enumerate(places[after : after + reach], start=1):
                yield Step(note, other, "next", "out", distance)

    def links(self, kinds: Collection[str]) -> Iterator[tuple[int, str, str]]:
        """Yield all links of some kinds, each a source, a kind and a target."""
        sources = {source for kind in kinds for source in self._directory.linking_as[kind]}
        for source in sorted(sources.difference(self.hidden)):
            for link in self._directory.notes[source].links:
                if link.kind in kinds:
                    yield source, link.kind, link.target

    def linked(self, notes: Sequence[int], kinds: Collection[str] | None) -> Iterator[Step]:
        """Find what the notes link."""
        for note in notes:
            for link in self._directory.notes[note].links:
                target = self.meant(link.target)
                if target is not None and (kinds is None or link.kind in kinds):
                    yield Step(note, target, link.kind, "out")

    def linking(self, notes: Sequence[int], kinds: Collection[str] | None) -> Iterator[Step]:
        """Find what links the notes, by whatever a link may call them."""
        for note in notes:
            for source in sorted(self._calling(self._directory.notes[note])):
                for link in self._directory.notes[source].links:
                    if (kinds is None or link.kind in kinds) and self.meant(link.target) == note:
                        yield Step(note, source, link.kind, "in")

    def sharing(self, notes: Sequence[int]) -> Iterator[Step]:
        """Find the notes that list the same entities, but for those that too many list."""
        for note in notes:
            listing = (self._directory.entities[name] for name in self._directory.notes[note].entities)
            for other in sorted({other for each in listing if len(each) <= MOST_SHARING for other in each}):
                yield Step(note, other, "entity", "out")

    def meant(self, target: str) -> int | None:
        """Return the note that a link's target means: by id, by path, or, as wikilinks do, by the end of a path."""
        if target not in self._meant:
            self._meant[target] = next(self._meanings(target), None)
        return self._meant[target]

    def _meanings(self, target: str) -> Iterator[int]:
        known = self._directory
        for name in (target, f"{target}.md"):
            for notes in (known.ids, known.paths):
                if name in notes and notes[name] not in self.hidden:
                    yield notes[name]
        if "/" not in target:
            called = [known.notes[note] for note in known.names[folded_name(target)] if note not in self.hidden]
            yield from (header.key for header in sorted(called, key=lambda header: (len(header.path), header.path)))

    def _calling(self, header: Header) -> set[int]:
        known = self._directory
        names = {name for name in (header.id, header.path) if name}
        names.update(name.removesuffix(".md") for name in (header.id, header.path) if name.endswith(".md"))
        called = {source for name in names for source in known.linking[name]}
        if header.path and "#" not in header.path:
            called.update(known.linking_name[folded_name(header.path)])
        return called.difference(self.hidden)

    def _session(self, session: str) -> list[tuple[int, int]]:
        """Return the places of a session and their notes, in order."""
        if session not in self._sessions:
            notes = self._directory.notes
            self._sessions[session] = sorted(
                (position, note)
                for note in self._directory.sessions[session]
                if (position := notes[note].position) is not None and note not in self.hidden
            )
        return self._sessions[session]
