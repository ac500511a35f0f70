"""Commas, bars and semicolons in label cells: several labels or one name, told by the whole file."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.data.formats.tabular import ONE, SEVERAL, UNCLEAR, judge

TAGS = ["cheese", "sauce", "baking", "oven", "bread", "storage", "spices", "pasta"]
FIRST, LAST = ["John", "Mary", "Ann", "Karl", "Eva", "Otto"], ["Smith", "Meier", "Virtanen", "Rossi", "Novak", "Silva"]


@pytest.fixture
def notes() -> Iterator[list[str]]:
    heard: list[str] = []
    with xt.listen(lambda event: heard.append(event.title) if event.kind == "note" else None):
        yield heard


def tagged(n: int, sign: str = ", ", seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [sign.join(draw.sample(TAGS, draw.choice([1, 2, 2, 3, 4]))) for _ in range(n)]


def people(n: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [f"{draw.choice(LAST)}, {draw.choice(FIRST)}" for _ in range(n)]


def as_csv(path: Path, cells: list[str], column: str = "labels") -> Path:
    path.write_text(f"text,{column}\n" + "".join(f'a text,"{cell}"\n' for cell in cells), encoding="utf-8")
    return path


def as_jsonl(path: Path, cells: list[object], key: str = "labels") -> Path:
    path.write_text("".join(json.dumps({"text": "a text", key: cell}) + "\n" for cell in cells), encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [as_csv, as_jsonl])
def test_labels_with_commas_between_them_are_several(tmp_path: Path, notes: list[str], write) -> None:
    cells = tagged(200)
    data = xt.read(write(tmp_path / ("d.csv" if write is as_csv else "d.jsonl"), cells))
    assert list(data.label_names) == sorted(TAGS)
    assert [data.labels_of(i) for i in range(3)] == [sorted(cell.split(", ")) for cell in cells[:3]]
    assert len(notes) == 1
    assert "labels are taken as separated by ','" in notes[0]
    assert "label_separator=';' leaves names whole" in notes[0]


@pytest.mark.parametrize("write", [as_csv, as_jsonl])
def test_names_with_a_comma_in_them_stay_whole(tmp_path: Path, notes: list[str], write) -> None:
    cells = people(200)
    data = xt.read(write(tmp_path / ("d.csv" if write is as_csv else "d.jsonl"), cells))
    assert set(data.label_names) == set(cells)
    assert notes == [
        f"{'d.csv' if write is as_csv else 'd.jsonl'}: 200 label cells contain ',', which is taken as a part of the "
        "names (label_separator=',' splits them)"
    ]


def test_what_nobody_can_tell_is_asked(tmp_path: Path) -> None:
    cells = ["cheese, sauce, oven", "baking, bread", "sauce", "bread, oven, cheese, storage"]
    for path in (as_csv(tmp_path / "d.csv", cells), as_jsonl(tmp_path / "d.jsonl", cells)):
        with pytest.raises(xt.DataError, match="3 label cells contain ',', and it is not clear whether it separates"):
            xt.read(path)
        assert xt.read(path, label_separator=",").n_labels == 6
        assert "baking, bread" in list(xt.read(path, label_separator=";").label_names)


def test_blanks_are_part_of_names_but_told_of(tmp_path: Path, notes: list[str]) -> None:
    cells = tagged(300, " ")
    assert set(xt.read(as_csv(tmp_path / "d.csv", cells)).label_names) == set(cells)
    assert notes == ["d.csv: labels look like several with blanks between them (label_separator=' ' splits them)"]
    assert list(xt.read(tmp_path / "d.csv", label_separator=" ").label_names) == sorted(TAGS)
    notes.clear()
    xt.read(as_csv(tmp_path / "d.csv", [name.replace(",", "") for name in people(300)]))
    xt.read(as_csv(tmp_path / "d.csv", [f"{name.replace(',', '')}; x" for name in people(300)]))
    assert notes == []


def test_semicolons_in_json_strings(tmp_path: Path) -> None:
    assert list(xt.read(as_jsonl(tmp_path / "d.jsonl", tagged(200, "; "))).label_names) == sorted(TAGS)


def test_lists_are_never_split_and_say_what_a_label_is(tmp_path: Path) -> None:
    cells = [["cheese", "a, b"], *([tag] for tag in TAGS), *tagged(100)]
    data = xt.read(as_jsonl(tmp_path / "d.jsonl", cells))
    assert set(data.label_names) == {*TAGS, "a, b"}


def test_a_column_label_is_one_name_but_is_told_of(tmp_path: Path, notes: list[str]) -> None:
    cells = tagged(200)
    data = xt.read(as_csv(tmp_path / "d.csv", cells, "label"))
    assert set(data.label_names) == set(cells)
    assert "look like several with ',' between (label_separator=',' splits them)" in notes[0]
    notes.clear()
    xt.read(as_jsonl(tmp_path / "d.jsonl", cells, "label"))
    assert len(notes) == 1
    notes.clear()
    xt.read(as_csv(tmp_path / "p.csv", people(200), "label"))
    assert notes == []


def test_two_separators_in_one_file(tmp_path: Path, notes: list[str]) -> None:
    with pytest.raises(xt.DataError, match=r"separated by ';', and in \d+ others '\|' seems to separate"):
        xt.read(as_csv(tmp_path / "d.csv", [*tagged(100, "|"), *tagged(100, ";", seed=1)]))
    with pytest.raises(xt.DataError, match=r"in .* others ',' seems to separate"):
        xt.read(as_csv(tmp_path / "d.csv", [*tagged(100), *tagged(100, ";", seed=1)]))
    data = xt.read(as_csv(tmp_path / "few.csv", ["a|b", "a;c"]))
    assert list(data.label_names) == ["a", "a|b", "c"]
    assert notes == [
        "few.csv: 1 labels contain '|', which is taken as a part of the names, since ';' separates them "
        "(label_separator='|' splits there instead)"
    ]
    notes.clear()
    both = [f"{a}; {b}" for a, b in zip(people(50), people(50, 1), strict=True)]
    assert all("," in name for name in xt.read(as_csv(tmp_path / "p.csv", both)).label_names)
    assert notes == []


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        ({"mining, quarrying, oil": 40, "arts, sports": 30, "education": 50, "real estate, rental, leasing": 20}, ONE),
        ({"a, b": 1}, ONE),
        ({"a": 5, "b": 5, "c": 5}, ONE),
        ({"Health, Safety": 9, "Health": 9, "Safety": 9}, UNCLEAR),
        ({"a,b": 2, "a,c": 2, "b,c": 2, "a": 3, "c,a,b": 1, "b": 3}, SEVERAL),
    ],
)
def test_small_cases(names: dict[str, int], verdict: str) -> None:
    assert judge(names, ",") == verdict


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    names = sorted(set(tagged(60)))
    alone = xt.Dataset(None, np.eye(len(names)), texts=["x"] * len(names), label_names=names)
    xt.write(alone, tmp_path / "alone.csv")
    back = xt.read(tmp_path / "alone.csv")
    assert [back.labels_of(i) for i in range(len(names))] == [[name] for name in names]
    two = xt.Dataset(None, np.ones((2, len(names))), texts=["x", "y"], label_names=names)
    with pytest.raises(xt.InputError, match=r"labels contain ','.*give label_separator"):
        xt.write(two, tmp_path / "two.csv")
    with pytest.raises(xt.ParameterError, match="jsonl files hold lists"):
        xt.write(two, tmp_path / "two.jsonl", label_separator="/")
    xt.write(two, tmp_path / "two.csv", label_separator="/")
    assert xt.read(tmp_path / "two.csv", label_separator="/").labels_of(0) == names
