"""Prepare the embedder of a served memory in the background: download and load its model, embed notes without a vector.

The server starts at once. Until a missing model is downloaded and all notes have its vectors, search is lexical, notes
are stored without vectors, and every search has a warning that says so.
"""

from __future__ import annotations

import logging
from threading import Event, Lock, Thread

from recollect.embedders import EmbedderChoice, embedder_from
from recollect.embedders.registry import embedder_to_download
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.weights import download
from recollect.memory import Memory
from recollect.retrieval.messages import error_summary

STOP_SECONDS = 10.0
"""How long a stopping server waits for the batch of notes that is being embedded."""

_LOG = logging.getLogger(__name__)


class _StoppedError(Exception):
    """The server stops, so that no more notes are embedded."""


class EmbedderPreparation:
    """Prepares the embedder of ``memory`` in a thread, from :meth:`start` to :meth:`stop`.

    With ``download``, a missing model is downloaded, see :func:`recollect.embedders.registry.embedder_to_download`. If
    that fails, the memory gets its previous embedder back. With ``embed``, notes that have no vector are embedded,
    unless the memory has vectors of another model.
    """

    def __init__(self, memory: Memory, *, download: bool, embed: bool) -> None:
        """Turn vector search off until the model is there, if a model has to be downloaded."""
        self._memory = memory
        self._embed = embed
        self._choice = memory.embedder_choice
        self._entry = embedder_to_download(memory.vector_model) if download else None
        self._stopping = Event()
        self._embedding = Lock()
        if self._entry is not None:
            self._pause_vector_search(f"{self._entry.name} is being downloaded")

    def start(self) -> None:
        """Begin in a thread that does not keep the process alive; an interrupted download continues at the next one."""
        Thread(target=self._run, daemon=True, name="recollect-embedder").start()

    def stop(self) -> None:
        """Stop embedding notes, so that the memory can be closed; a running download ends with the process."""
        self._stopping.set()
        if self._embedding.acquire(timeout=STOP_SECONDS):
            self._embedding.release()

    def _run(self) -> None:
        try:
            if self._entry is not None:
                self._download(self._entry)
            else:
                self._use(self._choice)
        except Exception as error:  # noqa: BLE001 (a thread has no caller, and the server continues)
            if not self._stopping.is_set():
                _LOG.warning("preparing the embedder failed: %s", error_summary(error))

    def _download(self, entry: CatalogueEntry) -> None:
        """Download a model and use it; if that fails, use the previous embedder, and log the reason."""
        _LOG.info("%s (%d MB) is being downloaded; search is lexical until then", entry.name, entry.megabytes)
        try:
            download(entry)
            self._use(EmbedderChoice(embedder_from(entry.name), f"{entry.name} is installed"))
        except Exception as error:  # noqa: BLE001 (the memory must not stay without an embedder)
            if not self._stopping.is_set():
                self._memory.set_embedder(self._choice)
                _LOG.warning("%s; the embedder is %s", error_summary(error), self._memory.described_embedder)
                self._use(self._choice)
        else:
            _LOG.info("%s is ready", entry.name)

    def _use(self, choice: EmbedderChoice) -> None:
        """Load the model of an embedder, embed the notes that have no vector of it, and search with it."""
        if choice.embedder is None:
            return
        choice.embedder.embed_query("warm up")  # loads the model
        with self._embedding:
            self._stop_if_requested()
            is_current = choice is self._memory.embedder_choice
            if is_current and not (self._embed and self._lacks_vectors(choice.embedder.name)):
                return
            if not is_current:
                self._pause_vector_search(f"the notes are being embedded with {choice.embedder.name}")
            self._memory.reindex(embedder=choice, progress=lambda *_: self._stop_if_requested())

    def _lacks_vectors(self, model: str) -> bool:
        """Return whether notes have no vector, and the memory has no vectors of another model."""
        return self._memory.vector_model in (None, model) and self._memory.stats().unembedded > 0

    def _pause_vector_search(self, reason: str) -> None:
        self._memory.set_embedder(EmbedderChoice(None, reason, warning=f"{reason}; search is lexical until then"))

    def _stop_if_requested(self) -> None:
        if self._stopping.is_set():
            raise _StoppedError
