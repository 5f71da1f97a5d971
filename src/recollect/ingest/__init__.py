"""Convert files and records to notes, and keep a store in sync with them. See ``docs/ingest.md``."""

from recollect.ingest.chunking import CHUNK_SIZE, Chunk, chunk_text, split_sentences
from recollect.ingest.ingestion import DocumentStore, ingest, ingest_texts
from recollect.ingest.readers import READERS, read_file
from recollect.ingest.source import Contents, IngestReport, Problem, Reader, Source, UnreadableError, text_reader

__all__ = [
    "CHUNK_SIZE",
    "READERS",
    "Chunk",
    "Contents",
    "DocumentStore",
    "IngestReport",
    "Problem",
    "Reader",
    "Source",
    "UnreadableError",
    "chunk_text",
    "ingest",
    "ingest_texts",
    "read_file",
    "split_sentences",
    "text_reader",
]
