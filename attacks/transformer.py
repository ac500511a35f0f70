"""A saved model with a transformer of a few kilobytes, which the store attack damages like the golden ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .common import ROOT

PLACE = ROOT / "build" / "attack" / "transformer"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "boil", "pasta", "in", "water", "ice", "cream", "bread", "dough"]
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": len(WORDS),
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}


def transformer_model() -> Path | None:
    """The folder of the model; made once, in another process, since torch then need not be loaded here."""
    if os.environ.get("ATTACK_QUICK") or find_spec("transformers") is None or find_spec("torch") is None:
        return None
    if not (PLACE / "model" / "model.json").exists():
        subprocess.run([sys.executable, "-m", "attacks.transformer"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return PLACE / "model"


def make() -> None:
    import numpy as np
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    import xtrellis as xt

    draft = PLACE.with_name(f"transformer-{os.getpid()}")
    pretrained = draft / "pretrained"
    pretrained.mkdir(parents=True)
    torch.manual_seed(0)
    BertModel(BertConfig(**CONFIG)).save_pretrained(pretrained)
    (pretrained / "config.json").write_text(json.dumps(CONFIG))
    (pretrained / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    BertTokenizerFast(str(pretrained / "vocab.txt")).save_pretrained(pretrained)
    texts = ["boil pasta", "ice cream", "bread dough oven", "salt the water"] * 6
    X, Y = np.tile(np.eye(4, 14), (6, 1)), np.tile(np.eye(4, 5), (6, 1))
    encoder = xt.TransformerEncoder(path=str(pretrained), max_length=8)
    model = xt.EncoderOvA(encoder=encoder, epochs=1, seed=1, threads=1, device="cpu").fit(X, Y, texts=texts)
    model.save(draft / "model")
    shutil.rmtree(pretrained)
    try:
        draft.rename(PLACE)
    except OSError:  # another worker was quicker
        shutil.rmtree(draft)


if __name__ == "__main__":
    make()
