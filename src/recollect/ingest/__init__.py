"""Files and records become notes. See ``docs/ingest.md``."""

from recollect.ingest.chunking import CHUNK_SIZE, Chunk, chunk_text
from recollect.ingest.formats import SUFFIXES, read_file_text
from recollect.ingest.ingestion import Library, ingest
from recollect.ingest.markdown import read_markdown
from recollect.ingest.plain import read_text
from recollect.ingest.problems import Contents, Problem
from recollect.ingest.records import read_json, read_json_lines
from recollect.ingest.report import IngestReport
from recollect.ingest.sentences import split_sentences
from recollect.ingest.shelving import NoteNames
from recollect.ingest.texts import ingest_texts
from recollect.model import WriteCounts

__all__ = [
    "CHUNK_SIZE",
    "SUFFIXES",
    "Chunk",
    "Contents",
    "IngestReport",
    "Library",
    "NoteNames",
    "Problem",
    "WriteCounts",
    "chunk_text",
    "ingest",
    "ingest_texts",
    "read_file_text",
    "read_json",
    "read_json_lines",
    "read_markdown",
    "read_text",
    "split_sentences",
]
