"""tokenizer.json, by the tokenizers library. It trusts its files, so a stranger's is looked at first.

With some files the library would abort, with others it would turn a word into gigabytes. What it refuses or panics at
after this look is a ValueError, like what this look refuses.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from ...arrays import Int64
from ...core import integer, shown

PIECE = 4096  # texts at once
MOST_PARTS = 32  # of one kind, those within others too
MOST_SPECIAL = 8  # tokens that are put around a text
LONGEST_PIECE = 128  # bytes that a character may become, or that are put before a text

_FIELDS = {
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "model", "post_processor",
    "decoder",
}  # fmt: skip
_INNER = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"}
_KINDS = {
    "normalizer": {
        "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend",
        "Replace", "Sequence", "Strip", "StripAccents",
    },
    "pre_tokenizer": {
        "BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation", "Sequence",
        "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit",
    },
    "post_processor": {"BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"},
    "model": {"BPE", "Unigram", "WordLevel", "WordPiece"},
}  # fmt: skip
_WORD = integer(at_least=1, at_most=1000)


class Tokenizer:
    """Texts to token numbers, as the fast tokenizers of the transformers library make them."""

    def __init__(self, raw: bytes) -> None:
        """`raw` is a whole tokenizer.json; ValueError if it is none, or one that could do harm."""
        import tokenizers

        _check(_parsed(raw))
        with _library():
            self._made = tokenizers.Tokenizer.from_str(str(raw, "utf-8"))
            self._side = (self._made.truncation or {"direction": "right"})["direction"]
            self._made.no_truncation()
            self._made.no_padding()
            n_special = self._made.num_special_tokens_to_add(is_pair=False)
        if n_special > MOST_SPECIAL:
            raise ValueError(f"it puts {n_special} tokens around a text; {MOST_SPECIAL} at most are allowed")

    def __call__(self, texts: Sequence[str], *, at_most: int) -> tuple[Int64, Int64]:
        """Where each text begins, and all their token numbers, one after another."""
        with _library():
            if (self._made.truncation or {}).get("max_length") != at_most:
                self._made.enable_truncation(at_most, direction=self._side)
        begins, parts = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
        for first in range(0, len(texts), PIECE):
            some = [_whole(text) for text in texts[first : first + PIECE]]
            with _library():
                found = [encoding.ids for encoding in self._made.encode_batch(some)]
            counts = np.array([len(ids) for ids in found], np.int64)
            if counts.max() > at_most:  # the library does not cut if there is no room for a word
                raise ValueError(f"it makes {counts.max()} tokens of a text where {at_most} were asked for")
            begins.append(begins[-1][-1] + counts.cumsum())
            parts.append(np.fromiter(chain.from_iterable(found), np.int64, int(counts.sum())))
        return np.concatenate(begins), np.concatenate(parts)


def carried(made: Any, side: str) -> bytes:
    """tokenizer.json of what a transformers tokenizer has inside, without what only decoding and padding need."""
    with _library():
        found = json.loads(made.to_str())
    # Its `max_length` never counts; the library wants one.
    cut = {"direction": side.capitalize(), "max_length": 512, "strategy": "LongestFirst", "stride": 0}
    return json.dumps(found | {"truncation": cut, "padding": None, "decoder": None}, ensure_ascii=False).encode("utf-8")


@contextmanager
def _library() -> Iterator[None]:
    """What the library raises, as a ValueError: bare Exceptions, and panics of its Rust, which are no Exceptions."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        raise ValueError((str(error).splitlines() or ["?"])[0][:200]) from None


def _whole(text: str) -> str:
    """Half of a surrogate pair is no text, and the library takes none; it counts as U+FFFD, in which no word is."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(str(raw, "utf-8"), object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"it must be a JSON object; got {type(found).__name__}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values of one name we would look at one, and the library might take the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it gives a name twice")
    return found


def _check(found: dict[str, Any]) -> None:
    for name in found:
        if name not in _FIELDS:
            raise ValueError(f"it has the unknown field {shown(name)}")
    for role, kinds in _KINDS.items():
        if role == "model" or found.get(role) is not None:
            for part in _parts(found.get(role), role, kinds):
                kind = part["type"]
                if kind in _LOOKS:
                    _LOOKS[kind](part)


def _parts(found: Any, role: str, kinds: set[str]) -> list[dict[str, Any]]:
    """A part of a tokenizer and all within it."""
    out, waiting = [], [found]
    while waiting:
        part = waiting.pop()
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"its {role} is of the type {shown(kind)}; it can be one of: {', '.join(sorted(kinds))}")
        out.append(part)
        if kind == "Sequence":
            inner = part.get(_INNER[role])
            if not isinstance(inner, list):
                raise ValueError(f"a Sequence must have {_INNER[role]}")
            waiting += inner
        if len(out) + len(waiting) > MOST_PARTS:
            raise ValueError(f"its {role} has more than {MOST_PARTS} parts")
    return out


def _look_at_replace(part: dict[str, Any]) -> None:
    pattern, content = part.get("pattern"), part.get("content")
    if not isinstance(pattern, dict) or not isinstance(content, str):
        raise ValueError("a Replace must have pattern and content")
    # A few that make a text longer, one after another, make it very long.
    if len(content) > max(1, len(str(pattern.get("String", "")))):
        raise ValueError(f"a Replace must not make a text longer; got {shown(content)} for {shown(pattern)}")


def _look_at_prepend(part: dict[str, Any]) -> None:
    if not isinstance(part.get("prepend"), str) or len(part["prepend"]) > LONGEST_PIECE:
        raise ValueError(f"a Prepend must have {LONGEST_PIECE} characters at most; got {shown(part.get('prepend'))}")


def _look_at_characters(part: dict[str, Any]) -> None:
    """SentencePiece's map of characters: the size of a trie in bytes, the trie, and what characters become."""
    text = part.get("precompiled_charsmap")
    raw = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    size = int.from_bytes(raw[:4], "little")
    # The library sets aside the memory that the size says before it finds the bytes missing.
    if not 4 <= size <= len(raw) - 4 or size % 4:
        raise ValueError("its precompiled_charsmap is damaged")
    if max(map(len, raw[4 + size :].split(b"\0"))) > LONGEST_PIECE:
        raise ValueError(f"its precompiled_charsmap makes more than {LONGEST_PIECE} bytes of a character")


def _look_at_words(part: dict[str, Any]) -> None:
    _WORD("max_input_chars_per_word", part.get("max_input_chars_per_word", 100))  # time grows with its square


_LOOKS = {
    "Precompiled": _look_at_characters,
    "Prepend": _look_at_prepend,
    "Replace": _look_at_replace,
    "WordPiece": _look_at_words,
}
