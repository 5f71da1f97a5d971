from __future__ import annotations

import subprocess
import sys

import pytest

from recollect.errors import EmbedderError
from recollect.inference.parts import installed_folder, not_installed, part


def test_what_is_missing_is_found_without_importing_anything() -> None:
    assert not_installed("json", "no_such_part", "email") == ["no_such_part"]


def test_a_module_that_is_one_file_has_no_folder() -> None:
    assert installed_folder("this") is None
    assert "this" not in sys.modules


@pytest.mark.parametrize(("module", "extra"), [("no_such_part", "models"), ("httpx.no_such_part", "http")])
def test_a_missing_part_says_what_to_install(module: str, extra: str) -> None:
    with pytest.raises(EmbedderError, match=rf"{module} cannot be imported .*: pip install 'recollectdb\[{extra}\]'"):
        part(module, EmbedderError)


def test_importing_and_choosing_is_light() -> None:
    code = """
        import sys
        from recollect.embedders import choose_embedder
        assert choose_embedder("auto").embedder.name == "all-MiniLM-L6-v2/int8"
        heavy = "numpy onnx onnxruntime tokenizers safetensors httpx http socket email asyncio torch wordllama".split()
        print([name for name in heavy if name in sys.modules])
    """
    code = "\n".join(line.strip() for line in code.splitlines())
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
