from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from recollect.embedders import StaticEmbedder
from recollect.embedders.static import _load, _StaticFiles
from recollect.errors import EmbedderError
from recollect.inference import runtime
from recollect.inference.weights import download
from tests.embedders.tiny import write_tokenizer
from tests.inference.hub import entry_of, local_hub

TEXTS = ["green tea", "How do I brew a cup of tea?", "naïve café — 東京", "  spaces  ", "x", "word " * 300]


def test_vectors_equal_those_of_wordllama(tmp_path: Path) -> None:
    # In a separate process, because importing the package changes the logging settings.
    code = """
        import json, shutil, sys
        from pathlib import Path
        import wordllama
        cache = Path(sys.argv[1])
        own = Path(wordllama.__file__).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
        (cache / "tokenizers").mkdir()
        shutil.copy(own, cache / "tokenizers")
        model = wordllama.WordLlama.load(cache_dir=cache, disable_download=True)
        print(json.dumps(model.embed(json.loads(sys.argv[2]), norm=True).tolist()))
    """
    code = "\n".join(line.strip() for line in code.splitlines())
    command = [sys.executable, "-c", code, str(tmp_path), json.dumps(TEXTS)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    assert StaticEmbedder().embed_documents(TEXTS) == pytest.approx(np.array(json.loads(process.stdout)), abs=1e-6)


def test_similar_texts_have_similar_vectors() -> None:
    embedder = StaticEmbedder()
    near, far = embedder.embed_documents(["a hot drink of leaves", "a parliament's election law"])
    query = embedder.embed_query("tea")
    assert query @ near > query @ far


def test_empty_text_has_zero_vector() -> None:
    embedder = StaticEmbedder()
    assert not embedder.embed_query("").any()
    assert embedder.embed_documents(["", "tea"]).any(axis=1).tolist() == [False, True]
    assert embedder.embed_documents([]).shape == (0, 256)


def test_vector_does_not_depend_on_batch() -> None:
    embedder = StaticEmbedder(batch_size=3)
    together = embedder.embed_documents(TEXTS)
    assert (together == np.concatenate([embedder.embed_documents([text]) for text in TEXTS])).all()


def test_static_model_does_not_import_wordllama() -> None:
    code = (
        "import logging, sys; from recollect.embedders import StaticEmbedder; logging.basicConfig(level=logging.DEBUG);"
        "StaticEmbedder().embed_query('tea'); print('wordllama' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (process.stdout.strip(), process.stderr) == ("False", "")


def test_missing_wordllama_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "find_spec", lambda _: None)
    with pytest.raises(
        EmbedderError, match=r"wordllama and tokenizers and safetensors: pip install --force-reinstall recollectdb"
    ):
        StaticEmbedder()


def test_folder_without_model_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="the static model in .* cannot be read"):
        _load(_StaticFiles(tmp_path / "tokenizer.json", tmp_path / "model.safetensors", "embeddings"))


def test_static_model_of_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    write_tokenizer(upstream, with_cls=False)
    save_file({"embeddings": np.eye(7, 256, dtype=np.float32)}, upstream / "model.safetensors")
    entry = entry_of(upstream, name="potion-base-8m", file="model.safetensors", dimension=256)
    monkeypatch.setattr("recollect.inference.catalogue.catalogue", lambda: {entry.name: entry})
    with local_hub(monkeypatch, tmp_path) as hub:
        hub.add_folder(upstream)
        with pytest.raises(EmbedderError, match="potion-base-8m is not installed: recollect models download"):
            StaticEmbedder("potion-base-8m")
        download(entry)
    embedder = StaticEmbedder("potion-base-8m")
    assert embedder.describe() == "potion-base-8m/float32, 256 dimensions, static token vectors"
    vector = embedder.embed_query("green tea tea")
    assert np.nonzero(vector)[0].tolist() == [3, 4]
    assert vector[4] == pytest.approx(2 / 5**0.5)
