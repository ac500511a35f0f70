"""Every architecture on the list: the library's vectors, in training and once stored."""

from __future__ import annotations

import base64
import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import xtrellis as xt
from xtrellis.neural.encoders.architectures import ARCHITECTURES, NEUTRAL, Settings
from xtrellis.neural.encoders.base import Inputs
from xtrellis.neural.encoders.pretrained import opened
from xtrellis.neural.encoders.transformer import TransformerEncoder
from xtrellis.neural.ova.model import EncoderOvA

WORDS = ["the", "cat", "sleeps", "on", "sofa", "stock", "markets", "fell", "rocket", "reached", "orbit"]
TEXTS = ["the cat sleeps on a sofa", "", "markets fell", "Zürich \u4f60 \x00 \ufffd", "the rocket " * 60]
SIZES = {
    "vocab_size": 64, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 40, "initializer_range": 0.5,
}  # fmt: skip
MORE = {"albert": {"embedding_size": 4, "num_hidden_groups": 2}, "electra": {"embedding_size": 4}}
ODD = [
    "", " ", "a", "A\tb\nc", "naïve café ÅÉ", "e\u0301", "\u4f60\u597d\uff0c\u4e16", "\U0001f642\u200d\U0001f467 ok",
    "\x00\x07\ufffd\u200b", "\u202etxet", "\u2028line", "\ufb01 \u00bd \u2167", "x" * 500, "w " * 700, "don't  stop",
    "[CLS] <s> </s> [MASK] <mask>", "`` quoted ''", "123,456.78",
]  # fmt: skip


PANICS = {
    "type": "Precompiled",
    "precompiled_charsmap": "AAAA",
}  # the tokenizers library, which then raises no Exception


def _tokenizer(kind):
    """A tokenizer.json as this architecture's models have it, over a few words."""
    pieces = [*"abcdefghiklmnoprstuxyz", *WORDS]
    if kind in ("bert", "distilbert", "electra", "mpnet"):
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        vocab = {word: i for i, word in enumerate([*names, *pieces[:50]])}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
        model["max_input_chars_per_word"] = 100
        normal = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
        normal["strip_accents"] = None
        split = {"type": "BertPreTokenizer"}
        first, last = ("[CLS]", 2), ("[SEP]", 3)
    elif kind == "roberta":
        names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        vocab = {word: i for i, word in enumerate([*names, *"abcdefghiklmnoprstuxyz", "Ġ", "th", "the", "Ġthe"])}
        model = {"type": "BPE", "vocab": vocab, "merges": [["t", "h"], ["th", "e"], ["Ġ", "the"]], "unk_token": "<unk>"}
        normal, split = None, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        first, last = ("<s>", 0), ("</s>", 2)
    else:
        names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        vocab = [[word, 0.0] for word in names] + [[word, -1.0 - i] for i, word in enumerate(["▁", *pieces[:50]])]
        model = {"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False}
        charsmap = base64.b64encode((1024).to_bytes(4, "little") + bytes(1024)).decode()
        replace = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
        inner = [{"type": "Precompiled", "precompiled_charsmap": charsmap}, replace, {"type": "NFKD"}]
        normal = {"type": "Sequence", "normalizers": inner}
        split = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        first, last = ("<s>", 0), ("</s>", 2)
    around = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": first[0], "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": last[0], "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in (first, last)},
    }
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": normal, "pre_tokenizer": split,
        "added_tokens": [{"id": i, "content": name, **flags} for i, name in enumerate(names)],
        "post_processor": around, "decoder": None, "model": model,
    }  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a small network of any architecture, as its maker would save it."""

    def make(kind, **changes):
        folder = tmp_path_factory.mktemp(kind)
        architecture = ARCHITECTURES[kind]
        sizes = {architecture.own(name): value for name, value in SIZES.items()}
        config = getattr(transformers, architecture.config)(**sizes, **MORE.get(kind, {}))
        torch.manual_seed(1)
        getattr(transformers, architecture.model)(config).save_pretrained(folder)
        written = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(written | changes))
        (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(kind)))
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
        return str(folder)

    return make


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_from_a_folder_to_a_stored_model(made, kind, tmp_path):
    folder = made(kind, hidden_dropout_prob=0.3, dropout=0.3, architectures=["Any"], id2label={"0": "a"})
    how = {"path": folder, "max_length": 24}
    found = TransformerEncoder(**how).first_vectors(Inputs(texts=TEXTS), threads=1, device="cpu")
    np.testing.assert_allclose(found[:, :-1], _by_the_library(folder, 24), atol=1e-5)
    X, Y = np.ones((5, 3), np.float32), np.eye(5, dtype=np.float32)
    model = EncoderOvA(encoder=TransformerEncoder(**how), epochs=1, batch_size=5, holdout=0, threads=1)
    model.fit(X, Y, texts=TEXTS)
    vectors = model.embed(X, texts=TEXTS)
    assert np.isfinite(vectors).all()
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    np.testing.assert_array_equal(again.embed(X, texts=TEXTS), vectors)
    assert {n: a.tobytes() for n, a in again._weights.items()} == {n: a.tobytes() for n, a in model._weights.items()}


def _by_the_library(folder, max_length):
    """Means of the tokens' vectors, one text at a time, by the library's own classes."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    module = transformers.AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()
    out = []
    for text in TEXTS:
        ids = tokenizer(text, truncation=True, max_length=max_length)["input_ids"]
        with torch.no_grad():
            out.append(module(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(0).numpy())
    return np.stack(out)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_no_setting_is_forgotten(made, kind):
    """Whatever the library asks a configuration for is carried, has one value, or changes no vector."""
    settings = opened(made(kind)).settings
    config, asked = settings.config(transformers), set()

    class Listening(type(config)):
        def __getattribute__(self, name):
            asked.add(name)
            return super().__getattribute__(name)

    object.__setattr__(config, "__class__", Listening)
    module = getattr(transformers, settings.architecture.model)(config).eval()
    module(input_ids=torch.ones((2, 5), dtype=torch.long), attention_mask=torch.ones((2, 5), dtype=torch.long))
    asked = {name for name in tuple(asked) if not callable(getattr(config, name, None))}
    asked = {name for name in asked if not name.startswith(("_", "base_model_", "output_", "vision_"))}
    known = {*settings.values, *NEUTRAL, *settings.architecture.dropouts}
    # These choose how something is computed or returned, or what weights are drawn before ours take their place.
    assert asked - known <= {
        "chunk_size_feed_forward", "gradient_checkpointing", "initializer_range", "name_or_path", "return_dict",
        "sinusoidal_pos_embds", "tie_word_embeddings", "use_cache",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_tokens_are_those_of_the_library(made, kind):
    folder, odd = made(kind), [*ODD, *ODD[:3]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    for max_length in (2, 3, 24, 38):
        wanted = tokenizer(odd, truncation=True, max_length=max_length)["input_ids"]
        assert _rows(TransformerEncoder(path=folder, max_length=max_length).tokens(odd)) == wanted


def test_tokens_of_a_real_model(one_layer, tmp_path):
    folder = Path(shutil.copytree(one_layer, tmp_path / "model"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    for side in ("right", "left"):
        (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"truncation_side": side}))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        encoder = TransformerEncoder(path=str(folder))
        assert _rows(encoder.tokens(ODD)) == tokenizer(ODD, truncation=True, max_length=128)["input_ids"]
    assert encoder.tokens([])[0].tolist() == [0]


def _rows(found):
    begins, ids = found
    return [ids[a:b].tolist() for a, b in pairwise(begins)]


def test_half_a_surrogate_pair_is_no_word(one_layer):
    encoder = TransformerEncoder(path=one_layer)
    half, without = _rows(encoder.tokens(["cat \ud83d dog", "cat dog"]))
    assert half == without


def test_texts_are_cut_where_the_network_has_no_places_left(made):
    """max_length may be what it likes."""
    for kind in ("bert", "roberta", "mpnet"):
        encoder = TransformerEncoder(path=made(kind), max_length=100_000)
        vectors = encoder.first_vectors(Inputs(texts=["a b c " * 100, "a"]), threads=1, device="cpu")
        assert np.isfinite(vectors).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "gpt2"}, r"'gpt2'; a TransformerEncoder can be one of: albert, bert, .*, xlm-roberta"),
        ({"model_type": None}, "model_type is None"),
        ({"is_decoder": True}, "is_decoder = True"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key'"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
        ({"quantization_config": {"quant_method": "x"}}, "quantization_config"),
        ({"hidden_act": "sigmoid"}, "hidden_act must be one of"),
        ({"hidden_size": 10**9}, "hidden_size"),
        ({"hidden_size": "8"}, "hidden_size"),
        ({"num_hidden_layers": 10**8}, "num_hidden_layers"),
        ({"num_hidden_layers": 5}, r"weights lack encoder\.layer\.2"),
        ({"num_hidden_layers": 1, "type_vocab_size": 3}, "no model on this machine|weights"),
    ],
)
def test_what_could_not_be_kept_is_not_trained(made, changes, said):
    X = np.ones((5, 3), np.float32)
    model = EncoderOvA(encoder=TransformerEncoder(path=made("bert", **changes)), epochs=1, holdout=0)
    with pytest.raises(xt.InputError, match=said):
        model.fit(X, np.eye(5, dtype=np.float32), texts=TEXTS)


def test_settings_that_a_file_leaves_out_or_names_otherwise(made):
    folder = Path(made("distilbert"))
    config = json.loads((folder / "config.json").read_text())
    config["hidden_size"] = config.pop("dim")
    (folder / "config.json").write_text(json.dumps(config))
    assert TransformerEncoder(path=str(folder)).width == 9
    found = Settings.of_config({"model_type": "bert"}, transformers)
    assert found["hidden_size"] == transformers.BertConfig().hidden_size
    found = Settings.of_config({"model_type": "bert", "layer_norm_eps": 1, "is_decoder": None}, transformers)
    assert Settings.of(json.loads(found.to_json())) == found


def test_damaged_folders_are_told(made):
    X = np.ones((5, 3), np.float32)
    for name, content in (
        ("config.json", "{"),
        ("config.json", "[" * 100_000),
        ("tokenizer.json", "{}"),
        ("tokenizer.json", json.dumps(_tokenizer("bert") | {"normalizer": PANICS})),
        ("model.safetensors", "nonsense"),
    ):
        folder = Path(made("bert"))
        (folder / name).write_text(content)
        model = EncoderOvA(encoder=TransformerEncoder(path=str(folder)), epochs=1, holdout=0)
        with pytest.raises(xt.InputError, match="no model on this machine"):
            model.fit(X, np.eye(5, dtype=np.float32), texts=TEXTS)
    folder = Path(made("bert"))
    found = json.loads((folder / "tokenizer.json").read_text())
    found["pre_tokenizer"] = {"type": "FixedLength", "length": 3}
    (folder / "tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(xt.InputError, match="pre_tokenizer is of the type 'FixedLength'"):
        TransformerEncoder(path=str(folder)).tokens(TEXTS)


def test_a_name_in_the_hubs_cache(made, tmp_path, monkeypatch):
    snapshot = tmp_path / "models--me--small" / "snapshots" / ("0" * 40)
    shutil.copytree(made("bert"), snapshot)
    (tmp_path / "models--me--small" / "refs").mkdir()
    (tmp_path / "models--me--small" / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    encoder = TransformerEncoder(path="me/small")
    assert encoder.width == 9
    assert encoder.first_vectors(Inputs(texts=TEXTS), threads=1, device="cpu").shape == (5, 9)
    assert [*encoder.files()] == ["file.config.json", "file.tokenizer.json"]
