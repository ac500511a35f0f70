"""A vocabulary in the store: mapped, not looked through; whatever bytes it holds, nothing worse than an error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from vocabulary_world import birds

import xtrellis as xt
from xtrellis.store import State

ARRAYS = birds().to_state().arrays
NAMES = sorted(ARRAYS)


def everything(vocab: xt.Vocabulary) -> None:
    """Ask all that can be asked."""
    vocab.find("birds")
    vocab.number("p2")
    vocab.search("bird")
    vocab.offer("birdz")
    list(vocab)
    vocab.check()
    list(vocab.preferred_names("fi"))
    for number in range(len(vocab)):
        vocab.name_of(number, "en")
        vocab.names_of(number, "en")
        vocab.successor(number)
    vocab.diff(birds())
    vocab.resolve(xt.Dataset(None, np.eye(2), texts=["x", "y"], label_names=["fowl", "p1"]), unknown="keep")


def test_saved_and_mapped(tmp_path: Path):
    birds().save(tmp_path / "v")
    vocab = xt.load(tmp_path / "v", kind=xt.Vocabulary)
    assert vocab == birds()
    assert not vocab.names.text.flags.owndata
    assert not vocab.names.text.flags.writeable
    everything(vocab)
    assert xt.load(tmp_path / "v", verify=True) == vocab


@pytest.mark.parametrize("name", NAMES)
def test_an_array_that_is_missing_or_of_another_kind(name: str):
    state = birds().to_state()
    for wrong in (None, state.arrays[name].astype(np.float64), state.arrays[name].reshape(-1, 1)):
        arrays = {**state.arrays, name: wrong} if wrong is not None else dict(state.arrays)
        if wrong is None:
            del arrays[name]
        with pytest.raises(xt.StoreError):
            xt.Vocabulary.from_state({}, State(state.meta, arrays))


@pytest.mark.parametrize("name", [name for name in NAMES if len(ARRAYS[name])])
@pytest.mark.parametrize("seed", range(6))
def test_any_values_give_an_error_or_an_answer(name: str, seed: int):
    """Offsets, targets, orders and texts of a stranger: every question is answered, or refused as damage."""
    state = birds().to_state()
    array = state.arrays[name].copy()
    random = np.random.default_rng([seed, NAMES.index(name)])
    limits = np.iinfo(array.dtype)
    places = random.integers(0, len(array), size=max(1, len(array) // 3))
    some = np.array([limits.min, limits.max, 0, 1, len(array), 7], dtype=array.dtype)
    array[places] = random.choice(some, size=len(places))
    try:
        vocab = xt.Vocabulary.from_state({}, State(state.meta, {**state.arrays, name: array}))
    except xt.StoreError:
        return
    for ask in (
        lambda: vocab.find("birds"),
        lambda: vocab.number("p2"),
        lambda: vocab.search("bird"),
        lambda: vocab.offer("birdz"),
        lambda: list(vocab),
        lambda: vocab.check(),
        lambda: list(vocab.preferred_names("fi")),
        lambda: [(vocab.name_of(i, "en"), vocab.names_of(i, "en"), vocab.successor(i)) for i in range(len(vocab))],
        lambda: everything(vocab),
    ):
        with suppress(xt.XtrellisError):  # told in words
            ask()


def test_languages_must_be_words():
    state = birds().to_state()
    for wrong in (None, "en", [1]):
        with pytest.raises(xt.StoreError, match="languages must be a list of strings"):
            xt.Vocabulary.from_state({}, State({"languages": wrong}, state.arrays))
    vocab = xt.Vocabulary.from_state({}, State({"languages": []}, state.arrays))
    with pytest.raises(xt.StoreError, match="a name is in language"):
        list(vocab)
    assert vocab.name_of(1) == "birds"
