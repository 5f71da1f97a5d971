"""The names that users rely on. A change here is a change for them: say so in CHANGELOG.md."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import recollect

SURFACE = {
    "recollect": """
        ArgumentError ArgumentTypeError AsyncMemory Candidate Contribution EmbedderError Filters ForbiddenError Hit
        IngestError KeyFileError Link Memory MemoryStats ModelError Note NoteNotFoundError Preset RecollectError
        RecollectWarning RerankerError Retrieval SearchOptions SearchResult SecretFoundError ServerError Step
        StoreBusyError StoreDamagedError StoreError StoreFullError StoreReadOnlyError StoreUnavailableError
        StoreVersionError Trace
        __version__ copy open open_async presets
        client embedders evaluation fusion ingest integrations query ranking rerankers retrieval server stores
    """,
    "recollect.client": "AsyncClient RemoteResult",
    "recollect.embedders": """
        EMBEDDERS
        Embedder EmbedderChoice EmbedderSpec FunctionEmbedder HttpEmbedder MiniLMEmbedder ModelEmbedder OnnxEmbedder
        StaticEmbedder choose_embedder embedder_from
    """,
    "recollect.ingest": """
        CHUNK_SIZE Chunk Contents DocumentStore IngestReport Problem READERS Reader Source UnreadableError chunk_text
        ingest ingest_texts read_file split_sentences text_reader
    """,
    "recollect.stores": "STORES is_url open_store redact_secrets",
    "recollect.query": """
        AliasTable AllOf AnyOf Except Expression MAX_LENGTH Match Query Renderer TemporalExpansion TimeInterval Token
        TrigramIndex TrigramMatch augment_with_temporal compile_fts5 date_search_tokens dates_in_text exclusion
        expand_aliases expand_temporal expression find_time_expressions jaccard normalise parse parse_question_date
        query_tokens render sanitise slug_text strongest_term
        trigram_search trigrams with_dates
    """,
    "recollect.fusion": """
        DEFAULT_K FUSION_METHODS FusionScale convex_combination deduplicate reciprocal_rank_fusion
    """,
    "recollect.ranking": """
        Adjustment AnchorExtractor Composite CompositeWeights DEFAULT_TEMPORAL_BOOST Duplicates
        ExactTerm ImportancePrior Intent IntentWeights RegexAnchorExtractor STAGES SessionLift
        SpeakerTurns Stage StageContext StageResult Superseded Temporal TemporalBoost TimeAnchor TimeMatch Unanimity
        blend_reranked composite detect_intent intent_multiplier merge_reranked rerank_text reweight_by_intent
        run_stage temporal time_match unanimity
    """,
    "recollect.retrieval": """
        Attempt Context ContextRules FusionRules GraphRules LadderRules Preset PresetSpec QueryRules RerankRules
        Retrieval ScoreTransfer SearchOptions SearchResult StageRun Trace explain preset_from presets recomputed_score
    """,
    "recollect.evaluation": """
        CachingEmbedder Collection Comparison ComparisonResult DATASETS Dataset Difference Interval MEASURES Outcome
        Parameter Question QuestionDifference Ranking ReliabilityBin Report SettingChange System TrustMetrics
        TuningResult WinLoss build_report calibration_error_interval compare_outcomes compute_measures evaluate
        exact_tokens expected_calibration_error generate_questions holm interval load_dataset open_scorer
        paired_difference read_qrels reliability_bins search_space temporary_memory trust_metrics tune win_loss
        write_qrels write_questions write_report write_run
    """,
    "recollect.integrations.langchain": "RecollectRetriever",
    "recollect.integrations.llamaindex": "RecollectRetriever",
    "recollect.server.mcp": "mcp_extension memory_server serve_stdio",
    "recollect.server": "Caller EVERYONE Grant Key KeyRing Right",
    "recollect.server.http": "Extension Settings create_app",
    "recollect.rerankers": """
        ChatReranker FunctionReranker HttpReranker OnnxReranker RERANKERS Reranker RerankerSpec reranker_from
    """,
}


@pytest.mark.parametrize("name", SURFACE)
def test_exported_names(name: str) -> None:
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(SURFACE[name].split())
    assert all(hasattr(module, exported) for exported in module.__all__)
    assert not hasattr(module, "no_such_name")
    assert set(SURFACE[name].split()) <= set(dir(module))


def test_importing_is_light() -> None:
    heavy = ["numpy", "sqlite3", "apsw", "asyncio", "socket", "http", "email", "rich", "pydantic"]
    code = f"import recollect, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_packages_are_imported_on_first_use() -> None:
    code = "import recollect; print(recollect.fusion.DEFAULT_K, recollect.Note.__name__, 'open' in dir(recollect))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["60", "Note", "True"]
    assert recollect.__getattr__("ranking") is recollect.ranking
