"""What a reranker could gain, how often it would be spared, and what reading twenty notes would cost."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.studies.laboratory import Laboratory
from benchmarks.studies.tables import share, table
from recollect.embedders import embedder_from
from recollect.evaluation import KeepingEmbedder, System, open_collection
from recollect.evaluation.running import evaluation_folder
from recollect.ranking import rerank_text, unanimity

__all__ = ["reranking", "reranking_time"]

READ = 20
TIMED = 20
_CHARACTERS = 1000


def reranking(lab: Laboratory) -> dict[str, str]:
    """Tell how often both legs agree, how good the order is there, and how much is within a reranker's reach."""
    rows = []
    default = System("default")
    for embedder in lab.embedders:
        for name, material in lab.materials.items():
            found = lab.outcomes(material, embedder, [default])[default.name]
            legs = lab.legs(material, embedder)
            first, within = [], []
            spared = []
            for question in material.dataset.questions:
                ids = found.rankings[question.id].ids
                first.append(bool(ids) and ids[0] in question.relevant)
                within.append(any(note in question.relevant for note in ids[:READ]))
                lexical, vector = legs[question.id]
                agreed = unanimity([each.id for each in lexical[:3]], [each.id for each in vector[:3]])
                spared.append(agreed is not None)
            agree, top, reach = np.array(spared), np.array(first), np.array(within)
            rows.append(
                [
                    f"{name}, {embedder}",
                    share(int(agree.sum()), len(agree)),
                    share(int((agree & top).sum()), int(agree.sum())),
                    share(int((~agree & top).sum()), int((~agree).sum())),
                    share(int((agree & reach & ~top).sum()), int(agree.sum())),
                    share(int(reach.sum()), len(reach)),
                    share(int(top.sum()), len(top)),
                ]
            )
    heads = ["collection", "spared by agreement", "first is right where spared", "first is right elsewhere",
             "spared, though a better first is within 20", "an answer within 20", "an answer first"]  # fmt: skip
    return {"reranking": table(heads, rows)}


def reranking_time(lab: Laboratory) -> dict[str, str]:
    """Time a search, and the reading of its twenty best notes by a model as large as MiniLM, which any could be."""
    model = embedder_from(lab.encoder)
    if model is None:
        return {"reranking time": ""}
    rows = []
    for name, material in lab.materials.items():
        sample = material.dataset.sample(TIMED)
        searches, readings = [], []
        for collection in sample.collections.values():
            asked = [question for question in sample.questions if question.collection == collection.id]
            if not asked:
                continue
            with open_collection(collection, KeepingEmbedder(model, lab.cache or evaluation_folder())) as memory:
                memory.search(asked[0].text, top_k=READ)
                for question in asked:
                    start = perf_counter()
                    result = memory.search(question.text, top_k=READ)
                    searches.append(perf_counter() - start)
                    texts = [
                        f"{question.text} {rerank_text(hit.candidate)} {hit.content[:_CHARACTERS]}" for hit in result
                    ]
                    start = perf_counter()
                    model.embed_documents(texts)
                    readings.append(perf_counter() - start)
        ratio = np.percentile(readings, 95) / np.percentile(searches, 95)
        rows.append([name, str(len(searches)), f"{ratio:.0f} times"])
    heads = ["collection", "questions", "p95 of reading 20 notes, by p95 of the search"]
    return {"reranking time": table(heads, rows)}
