"""A stranger's model folder with a TransformerEncoder: it runs nothing, asks nobody, reads nothing but itself."""

from __future__ import annotations

import base64
import copy
import json
import shutil
import sys

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.neural.encoders import pretrained
from xtrellis.neural.encoders.transformer import TransformerEncoder
from xtrellis.neural.ova.model import EncoderOvA

CONFIG, TOKENIZER = "file.config.json", "file.tokenizer.json"
LACKS = object()
TEXTS = ["the cat sleeps", "stock markets fell", "bread with yeast", "the rocket reached orbit"]
OPENED: list[str] | None = None  # files that Python opens, while somebody wants to know


def _listen(event, arguments):
    if OPENED is not None and event == "open":
        OPENED.append(str(arguments[0]))


sys.addaudithook(_listen)


class Asked:
    """Instead of standard input: knows whether anybody has read it, and says yes."""

    def __init__(self):
        self.reads = 0

    def __getattr__(self, name):
        self.reads += 1
        raise AssertionError(f"standard input was asked for {name}")


@pytest.fixture
def asked(monkeypatch):
    stdin = Asked()
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("builtins.input", lambda *_: setattr(stdin, "reads", stdin.reads + 1) or "y")
    return stdin


@pytest.fixture(scope="module")
def trained(one_layer):
    how = {"epochs": 1, "batch_size": 4, "holdout": 0, "threads": 1}
    model = EncoderOvA(encoder=TransformerEncoder(path=one_layer, max_length=8), **how)
    return model.fit(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), texts=TEXTS)


@pytest.fixture
def loaded(trained):
    """The model rebuilt from what is stored of it, with other arrays, settings or tokenizer."""

    def rebuild(arrays=(), *, without=(), settings=None, tokenizer=None, at=None):
        weights = {name: array for name, array in trained._weights.items() if name not in without}
        weights |= {name: _array(content) for name, content in dict(arrays).items()}
        for name, changes in ((CONFIG, settings), (TOKENIZER, tokenizer)):
            if changes is not None:
                found = json.loads(weights[name].tobytes()) | changes
                weights[name] = _array(json.dumps({key: value for key, value in found.items() if value is not LACKS}))
        model = copy.copy(trained)
        model._weights = weights
        if at is None:  # quicker, and the same
            return EncoderOvA.from_state({"encoder": trained.encoder.clone()}, model.to_state())
        model.save(at)
        return xt.load(at)

    return rebuild


def _array(content):
    if isinstance(content, str):
        content = content.encode()
    return np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content


def test_code_that_a_folder_names_is_not_run_and_nobody_is_asked(loaded, asked, tmp_path):
    """transformers would ask on standard input whether to run it, and take a piped "y" for a yes."""
    (tmp_path / "strange.py").write_text("raise SystemExit('this ran')")
    for changes in (
        {"model_type": "strange"},
        {"model_type": "strange", "auto_map": {"AutoConfig": f"{tmp_path}--strange.C", "AutoModel": "strange.M"}},
        {"auto_map": {"AutoConfig": "strange.C", "AutoModel": "strange.M"}},
    ):
        with pytest.raises(xt.StoreError, match=r"model_type|auto_map"):
            loaded(settings=changes, at=tmp_path / "m")
    assert not asked.reads


def test_a_model_that_lacks_its_files_reads_no_others(loaded, one_layer, asked, tmp_path):
    """`path` is the word of whoever made the folder."""
    global OPENED
    for missing in ((CONFIG,), (TOKENIZER,), (CONFIG, TOKENIZER)):
        OPENED = []
        try:
            with pytest.raises(xt.StoreError, match=missing[0].replace(".", r"\.")):
                loaded(without=missing, at=tmp_path / "m")
            assert not [name for name in OPENED if name.startswith(one_layer)]
        finally:
            OPENED = None
    assert not asked.reads


def test_a_loaded_model_reads_nothing_outside_its_folder(trained, one_layer, asked, tmp_path):
    global OPENED
    trained.save(tmp_path / "m")
    eye = np.eye(4, dtype=np.float32)
    wanted = trained.predict(eye, k=2, texts=TEXTS)
    OPENED = []
    try:
        again = xt.load(tmp_path / "m")
        found = again.predict(eye, k=2, texts=TEXTS)
        assert again.encoder.width == 385
        assert [name for name in OPENED if name.startswith(str(tmp_path))]  # the ear is open
        assert not [name for name in OPENED if name.startswith(one_layer)]
    finally:
        OPENED = None
    assert not asked.reads
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.scores, wanted.scores)


HOSTILE = [
    ("num_hidden_layers", 10**8),
    ("num_hidden_layers", 100),  # within bounds, but of so many layers there are no arrays
    ("num_hidden_layers", 0),
    ("num_hidden_layers", True),
    ("hidden_size", 10**12),
    ("hidden_size", 384.0),
    ("hidden_size", "384"),
    ("vocab_size", 10**9),
    ("vocab_size", -1),
    ("intermediate_size", 2**60),
    ("num_attention_heads", 0),
    ("num_attention_heads", 7),  # 384 is no multiple of it
    ("max_position_embeddings", 10**10),
    ("max_position_embeddings", 1),
    ("type_vocab_size", 0),
    ("layer_norm_eps", -1),
    ("layer_norm_eps", 2),
    ("layer_norm_eps", [1]),
    ("hidden_act", "os.system"),
    ("hidden_act", {"a": 1}),
    ("pad_token_id", 30522),
    ("pad_token_id", -1),
    ("_attn_implementation", "strangers/kernel"),
    ("attn_implementation", "strangers/kernel"),
    ("quantization_config", {}),
    ("transformers_weights", "/etc/passwd"),
    ("is_decoder", True),
    ("model_type", ["bert"]),
    ("model_type", None),
]


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_every_setting_has_bounds(loaded, key, value):
    with pytest.raises(xt.StoreError, match=f"the stored encoder: .*{key}"):
        loaded(settings={key: value})


def test_settings_that_do_not_fit_the_arrays(loaded):
    for key, value in (("vocab_size", 30_000), ("hidden_size", 768), ("intermediate_size", 8), ("type_vocab_size", 3)):
        with pytest.raises(xt.StoreError, match="stored weights"):
            loaded(settings={key: value})
    with pytest.raises(xt.StoreError, match="layer_norm_eps"):
        loaded(settings={"layer_norm_eps": LACKS})
    with pytest.raises(xt.StoreError, match="float32"):
        loaded({"embeddings.word_embeddings.weight": np.zeros((30522, 384), np.float16)})
    with pytest.raises(xt.StoreError, match="stored weights"):
        loaded({"another": np.zeros(3, np.float32)})
    with pytest.raises(xt.StoreError, match="stored weights"):
        loaded(without=("embeddings.LayerNorm.bias",))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"{",
        b"[1]",
        b"null",
        b'{"hidden_size": NaN}',
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b"[" * 15_000,
        b'{"vocab_size":' + b"9" * 12_000 + b"}",
        b" " * (1 << 20),
        b'{"model_type": "bert", "vocab_size": 1e999}',
    ],
)
def test_settings_that_are_no_settings(loaded, content):
    with pytest.raises(xt.StoreError, match=r"the stored encoder: file\.config\.json"):
        loaded({CONFIG: content})


def test_only_two_files_are_carried(loaded, trained):
    assert [name for name in trained._weights if name.startswith("file.")] == [CONFIG, TOKENIZER]
    for name in ("file.tokenizer_config.json", "file.vocab.txt", "file.run.py", "file.", "file.config.json.json"):
        with pytest.raises(xt.StoreError, match="carries"):
            loaded({name: b"{}"})
    for array in (np.zeros((2, 2), np.uint8), np.zeros(4, np.float32), np.zeros(4, np.int8)):
        with pytest.raises(xt.StoreError, match="bytes"):
            loaded({CONFIG: array})


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
}


NINE = [1] * 9


def _charsmap(trie_bytes, rest):
    return {
        "type": "Precompiled",
        "precompiled_charsmap": base64.b64encode(trie_bytes.to_bytes(4, "little") + rest).decode(),
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"type": "Strange"}},
        {"model": None},
        {"model": {"type": "BPE", "unk_token": "a", "vocab": {"a": 0}, "merges": [["a", "a"]]}},
        {"pre_tokenizer": {"type": "FixedLength", "length": 0}},  # the library panics
        {"pre_tokenizer": {"type": ["Sequence"]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Strange"}]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": 3}},
        {"normalizer": _charsmap(0xFFFFFFFC, b"")},  # the library would set 4 GB aside, or abort
        {"normalizer": _charsmap(3, b"abc")},
        {"normalizer": _charsmap(4, b"\0\0\0\0" + b"x" * 1000)},  # one character becomes a thousand
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "é"}},
        {"normalizer": {"type": "Precompiled"}},
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}},
        {"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "aa"}},
        {"normalizer": {"type": "Replace", "pattern": "a", "content": "a"}},
        {"normalizer": {"type": "Prepend", "prepend": "a" * 1000}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 1000}},
        {"post_processor": TEMPLATE | {"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": NINE, "tokens": ["a"] * 9}}}},
        {"strange": 1},
    ],
)  # fmt: skip
def test_a_tokenizer_is_looked_at_before_it_is_built(loaded, changes, capfd):
    with pytest.raises(xt.StoreError, match=r"the stored encoder: file\.tokenizer\.json"):
        loaded(tokenizer=changes)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 200_000, b'{"model":' * 2000, b"nonsense"])
def test_a_tokenizer_that_is_none(loaded, content):
    with pytest.raises(xt.StoreError, match=r"the stored encoder: file\.tokenizer\.json"):
        loaded({TOKENIZER: content})


def test_files_have_a_largest_size(loaded, one_layer, monkeypatch):
    monkeypatch.setitem(pretrained.LARGEST, TOKENIZER, 1000)
    with pytest.raises(xt.InputError, match="1000 at most"):
        TransformerEncoder(path=one_layer).tokens(TEXTS)
    with pytest.raises(xt.StoreError, match=r"file\.tokenizer\.json .*1000 bytes"):
        loaded()


def test_tokens_beyond_the_vocabulary_are_told(loaded):
    """The network would be asked for a row that it does not have; on a GPU this ends the process."""
    special = {"[CLS]": {"id": "[CLS]", "ids": [4_000_000_000], "tokens": ["[CLS]"]}}
    model = loaded(tokenizer={"post_processor": TEMPLATE | {"special_tokens": special}})
    with pytest.raises(xt.StoreError, match=r"4000000000.*30522"):
        model.predict(np.eye(4, dtype=np.float32), texts=TEXTS)


def test_a_path_is_never_asked_for_code(one_layer, asked, tmp_path):
    """In training too: whoever wants a network of its own code is told which architectures there are."""
    folder = tmp_path / "strange"
    shutil.copytree(one_layer, folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "strange.py").write_text("raise SystemExit('this ran')")
    auto = {"AutoConfig": "strange.C", "AutoModel": "strange.M", "AutoTokenizer": ["strange.T", None]}
    X = np.eye(4, dtype=np.float32)
    for changes, said in (
        ({"model_type": "strange", "auto_map": auto}, "albert, bert, .*xlm-roberta"),
        ({"auto_map": auto}, "auto_map"),
    ):
        (folder / "config.json").write_text(json.dumps(settings | changes))
        with pytest.raises(xt.InputError, match=said):
            EncoderOvA(encoder=TransformerEncoder(path=str(folder)), epochs=1).fit(X, X, texts=TEXTS)
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "StrangeT", "auto_map": auto}))
    encoder = TransformerEncoder(path=str(folder))  # the library takes the tokenizer of the architecture
    assert len(encoder.tokens(TEXTS)[0]) == 5
    assert not asked.reads
