"""Each command from file to answer."""

from __future__ import annotations

import gc
import json
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from cli_world import TOPICS, Run, rows, write_jsonl
from scipy.sparse import load_npz

import xtrellis as xt


def test_train_shows_what_it_does_and_saves(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    code, out, err = run("train", train_file, "--to", to, "--preset", "one-vs-all", "--seed", "3", "--threads", "1")
    assert code == 0
    assert "400 rows, 36 labels (2.0 per row), texts" in err
    held_out = int(re.search(r"On (\d+) rows it has not seen:", out).group(1))
    assert 20 < held_out < 60
    assert f"{held_out} rows are held out to measure on; then the model is trained again on all rows" in err
    assert "trained again on all 400 rows; the table is of the one before it" in out
    assert f"Saved {to} (" in out
    tagger = xt.load(to)
    assert tagger.n_rows == 400
    assert tagger.tag("rain snow wind", k=1)[0].label == "weather"


def test_train_as_json(run: Run, train_file: Path, test_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "new" / "m"
    args = ["train", train_file, "--to", to, "--preset", "one-vs-all", "--test", test_file, "--json", "--quiet"]
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["model"] == str(to)
    assert found["trained_on"] == found["data"]["rows"] == 400
    assert found["data"]["labels"] == 36
    assert found["data"]["features"] == 32
    assert found["held_out"]["rows"] == 60
    assert found["held_out"]["metrics"]["P@1"] > 90
    assert "PSP@3" in found["held_out"]["metrics"]
    assert found["bytes"] == sum(file.stat().st_size for file in to.iterdir())


def test_with_test_data_probabilities_are_learned_from_rows_that_are_left_out(run: Run, tmp_path: Path) -> None:
    for name, n in (("train", 600), ("test", 60)):
        lines = "".join(json.dumps(row) + "\n" for row in rows(n, seed=n))
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    args = ["train", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl", "--preset", "one-vs-all"]
    code, out, err = run(*args, "--to", tmp_path / "m")
    assert code == 0
    assert "rows that tell what scores are worth" in err
    tagger = xt.load(tmp_path / "m")
    assert tagger.n_rows == 600
    assert tagger.probability_curves is not None
    assert tagger.tag("rain snow wind", k=1)[0].probability > 0.5
    code, other, err = run(*args, "--to", tmp_path / "plain", "--no-refit")
    assert (code, "what scores are worth" in err) == (0, False)
    assert xt.load(tmp_path / "plain").probability_curves is None
    assert other.split("Saved")[0] == out.split("Saved")[0]  # measured on the test rows by the same model


def test_train_again_on_all_rows(run: Run, train_file: Path, tmp_path: Path) -> None:
    args = ["train", train_file, "--to", tmp_path / "m", "--preset", "one-vs-all", "--holdout", "0.25", "--refit"]
    code, out, _ = run(*args)
    assert code == 0
    assert 60 < int(re.search(r"On (\d+) rows", out).group(1)) < 140
    assert "trained again on all 400 rows" in out
    assert xt.load(tmp_path / "m").n_rows == 400


def test_numbers_of_a_model_trained_again_are_its_own(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"  # a word of its own in every row: all rows have more features than some
    lines = [{**row, "text": f"{row['text']} word{i}x"} for i, row in enumerate(rows(200, seed=4))]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    args = ["train", data, "--to", tmp_path / "m", "--preset", "one-vs-all", "--holdout", "0.25", "--refit"]
    code, out, _ = run(*args, "--json", "-q")
    assert code == 0
    tagger = xt.load(tmp_path / "m")
    assert len(tagger.vectorizer.feature_names) == 32 + 200
    assert json.loads(out)["data"] == {"rows": 200, "features": 32 + 200, "labels": tagger.n_labels}


def test_the_first_model_takes_no_memory_while_it_is_trained_again(
    run: Run, train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, seen = xt.LinearTree._train, []

    def watched(self: xt.LinearTree, data: xt.TrainingData, checkpoint: Path | None) -> None:
        gc.collect()
        assert not [thing for thing in seen if thing() is not None]
        seen.extend([weakref.ref(self), weakref.ref(data)])
        train(self, data, checkpoint)

    monkeypatch.setattr(xt.LinearTree, "_train", watched)
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "--preset", "one-vs-all", "--refit", "-q")
    assert (code, err) == (0, "")
    assert len(seen) == 4


def test_train_without_measuring(run: Run, train_file: Path, tmp_path: Path) -> None:
    args = ["train", train_file, "--to", tmp_path / "m", "--preset", "one-vs-all", "--holdout", "0"]
    code, out, _ = run(*args)
    assert code == 0
    assert "trained on all 400 rows; nothing was measured" in out


def test_settings_reach_the_vectorizer_and_the_model(run: Run, train_file: Path, tmp_path: Path) -> None:
    settings = ["--set", "vectorizer.ngrams=2", "--set", "beam=7", "--set", "vectorizer.min_df=2"]
    assert run("train", train_file, "--to", tmp_path / "m", "--preset", "one-vs-all", *settings).code == 0
    tagger = xt.load(tmp_path / "m")
    assert tagger.vectorizer.ngrams == 2
    assert tagger.vectorizer.min_df == 2
    assert tagger.model.beam == 7


def test_the_same_command_gives_the_same_model(run: Run, train_file: Path, tmp_path: Path) -> None:
    for name, threads in (("a", "1"), ("b", "2")):
        args = ["train", train_file, "--to", tmp_path / name, "--preset", "one-vs-all", "--seed", "5"]
        assert run(*args, "--threads", threads).code == 0
    for file in sorted((tmp_path / "a").glob("*.safetensors")):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_an_existing_model_is_replaced_but_nothing_else_is(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    for _ in range(2):
        assert run("train", train_file, "--to", to, "--preset", "one-vs-all").code == 0
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("dear diary")
    for place in (tmp_path / "notes", train_file, train_file / "below"):
        code, out, err = run("train", train_file, "--to", place, "--preset", "one-vs-all")
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert "texts" not in err  # refused before reading
    assert (tmp_path / "notes" / "diary.txt").read_text() == "dear diary"


def _write_xmc(path: Path, n: int) -> Path:
    lines = [f"{n} 4 4"] + [f"{i % 4} {i % 4}:1.0 {(i + 1) % 4}:0.25" for i in range(n)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_folder_may_bring_its_own_test_part(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "both"
    data.mkdir()
    write_jsonl(data / "train.jsonl", 300, seed=1)
    write_jsonl(data / "test.jsonl", 50, seed=2)
    code, out, err = run("train", data, "--to", tmp_path / "m", "--preset", "one-vs-all")
    assert code == 0
    assert f"{data} (train): 300 rows" in err
    assert f"On 50 rows it has not seen ({data}):" in out
    assert "trained on all 300 rows." in out
    assert json.loads(run("evaluate", tmp_path / "m", data, "--json").out)["rows"] == 50
    assert json.loads(run("evaluate", tmp_path / "m", data, "--json", "--read", "part=train").out)["rows"] == 300
    assert json.loads(run("inspect", data, "--json").out)["rows"] == 300


def test_reading_options(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("body,tags\n" + 'rain snow,"weather;cold"\napple pear,fruit\n' * 30)
    options = ["--read", "text_column=body", "--read", "label_column=tags", "--read", "label_separator=;"]
    code, _, err = run("train", data, "--to", tmp_path / "m", "--preset", "one-vs-all", *options)
    assert code == 0, err
    assert sorted(xt.load(tmp_path / "m").label_names) == ["cold", "fruit", "weather"]
    assert "60 rows, 3 labels (1.5 per row)" in err


def test_a_handful_of_rows(run: Run, tmp_path: Path) -> None:
    code, out, err = run("train", write_jsonl(tmp_path / "d.jsonl", 1, 0), "--to", tmp_path / "m")
    assert code == 0, err
    assert "nothing was measured" in out
    assert "too few rows" in err


def test_a_feature_matrix_trains_a_model_without_words(run: Run, tmp_path: Path) -> None:
    data, to = _write_xmc(tmp_path / "d.txt", 80), tmp_path / "m"
    code, out, err = run("train", data, "--to", to, "--preset", "one-vs-all")
    assert code == 0
    assert "80 rows, 4 labels (1.0 per row), 4 features (2.0 per row)" in err
    code, out, _ = run("predict", to, data, "-k", "1")
    assert code == 0
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [[str(i % 4)] for i in range(80)]
    assert json.loads(run("evaluate", to, data, "--json", "--metrics", "P@1").out)["metrics"] == {"P@1": 100.0}
    code, out, err = run("tag", to, "words")
    assert (code, out) == (2, "")
    assert "cannot read texts" in err
    code, _, err = run("train", data, "--to", to, "--set", "vectorizer.ngrams=2")
    assert code == 2
    assert "there is no vectorizer" in err


def test_predict_writes_names_to_stdout(run: Run, model: Path, test_file: Path) -> None:
    code, out, _ = run("predict", model, test_file, "-k", "3")
    answers = [json.loads(line) for line in out.splitlines()]
    truth = [json.loads(line) for line in test_file.read_text(encoding="utf-8").splitlines()]
    assert code == 0
    assert len(answers) == 60
    assert all(len(answer["labels"]) == len(answer["scores"]) == 3 for answer in answers)
    assert all(answer["scores"] == sorted(answer["scores"], reverse=True) for answer in answers)
    right = sum(answer["labels"][0] in row["labels"] for answer, row in zip(answers, truth, strict=True))
    assert right > 54


def test_predict_needs_no_labels(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "violin piano"}\n{"text": "rain snow"}\n')
    code, out, _ = run("predict", model, data, "-k", "1")
    assert code == 0
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [["music"], ["weather"]]


def test_predict_writes_three_kinds_of_file(run: Run, model: Path, test_file: Path, tmp_path: Path) -> None:
    stdout = run("predict", model, test_file, "-k", "4").out
    for suffix in ("jsonl", "txt", "npz"):
        code, out, err = run("predict", model, test_file, "-k", "4", "--to", tmp_path / f"p.{suffix}")
        assert (code, out) == (0, "")
        assert f"wrote {tmp_path / f'p.{suffix}'}: 60 rows" in err
    assert (tmp_path / "p.jsonl").read_text(encoding="utf-8") == stdout
    scores = load_npz(tmp_path / "p.npz")
    assert scores.shape == (60, 36)
    header, *lines = (tmp_path / "p.txt").read_text().splitlines()
    assert header == "60 36"
    for i, line in enumerate(lines):
        labels, values = zip(*(pair.split(":") for pair in line.split()), strict=True)
        np.testing.assert_array_equal(scores[[i], list(map(int, labels))], np.asarray(values, np.float32))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.jsonl", "p.npz", "p.txt"]


@pytest.mark.parametrize(
    ("name", "says"), [("p.parquet", "must end in"), ("no/p.txt", "no folder"), ("d.txt", "folder")]
)
def test_predict_says_where_it_cannot_write(
    run: Run, model: Path, test_file: Path, tmp_path: Path, name: str, says: str
) -> None:
    (tmp_path / "d.txt").mkdir()
    code, _, err = run("predict", model, test_file, "--to", tmp_path / name, "-q")
    assert code == 2
    assert says in err


def test_evaluate(run: Run, model: Path, test_file: Path) -> None:
    code, out, err = run("evaluate", model, test_file)
    assert code == 0
    assert "PSP" in out
    assert "60 rows" in err
    code, out, err = run("evaluate", model, test_file, "--json", "-q", "--metrics", "p@1,R@2", "--metrics", "PSP@1")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found["metrics"]) == ["P@1", "R@2", "PSP@1"]
    assert found["metrics"]["P@1"] > 90
    code, _, err = run("evaluate", model, test_file, "--metrics", "Q@1", "-q")
    assert code == 2
    assert "Q@1" in err


def test_search_and_threads_can_be_told_anew(
    run: Run, model: Path, test_file: Path, train_file: Path, tmp_path: Path
) -> None:
    code, out, _ = run(
        "evaluate", model, test_file, "--json", "-q", "--metrics", "depth@1,P@1", "--beam", "3", "--threads", "1"
    )
    assert code == 0
    assert json.loads(out)["metrics"]["depth@1"] >= 1
    assert run("predict", model, test_file, "-k", "2", "--beam", "1", "--threads", "2").code == 0
    assert run("tag", model, "violin piano", "--beam", "1").code == 0
    assert run("tag", model, "violin piano", "--beam", "0").code == 2
    folders = []
    for threads in ("1", "2"):
        path = tmp_path / threads
        assert run("train", train_file, "--to", path, "--threads", threads, "-q").code == 0
        folders.append({file.name: file.read_bytes() for file in path.iterdir()})
    assert folders[0] == folders[1]


def test_evaluate_goes_by_label_names(run: Run, model: Path, tmp_path: Path) -> None:
    # Another file numbers its labels differently, lacks most of them and has one the model has never seen.
    data = tmp_path / "other.jsonl"
    data.write_text('{"text": "snow rain", "labels": ["weather", "never seen"]}\n')
    code, out, err = run("evaluate", model, data, "--json", "--metrics", "P@1,R@10,PSP@1")
    assert code == 0
    assert json.loads(out)["metrics"] == {"P@1": 100.0, "R@10": 50.0, "PSP@1": pytest.approx(100, abs=90)}
    assert "the model does not know 1 label of the data" in err


def test_tag(run: Run, model: Path) -> None:
    code, out, err = run("tag", model, "violin piano concert", "-k", "2")
    assert (code, err) == (0, "")
    score, label = out.splitlines()[0].split()
    assert label == "music"
    assert len(out.splitlines()) == 2
    found = json.loads(run("tag", model, "violin piano concert", "-k", "2", "--json").out)
    assert found["text"] == "violin piano concert"
    assert found["tags"][0]["label"] == "music"
    assert found["tags"][0]["score"] == pytest.approx(float(score), abs=1e-4)


@pytest.mark.parametrize("args", [[], ["-"]])
def test_tag_reads_stdin(run: Run, model: Path, args: list[str]) -> None:
    code, out, _ = run("tag", model, *args, "-k", "1", stdin="violin\npiano\n")
    assert code == 0
    assert out.split()[1] == "music"


def test_tag_each_line(run: Run, model: Path) -> None:
    code, out, _ = run("tag", model, "--lines", "--json", "-k", "1", stdin="violin piano\nrain snow\n")
    assert code == 0
    assert [json.loads(line)["tags"][0]["label"] for line in out.splitlines()] == ["music", "weather"]
    code, out, _ = run("tag", model, "--lines", "-k", "1", stdin="violin piano\nrain snow\n")
    assert [line.split()[-1] for line in out.splitlines() if line] == ["piano", "music", "snow", "weather"]
    assert run("tag", model, "--lines", stdin="") == (0, "", "")
    assert run("tag", model, "text", "--lines").code == 2


def test_tag_threshold(run: Run, model: Path) -> None:
    assert run("tag", model, "violin", "--threshold", "1e9") == (0, "(no labels)\n", "")


def test_inspect_data(run: Run, train_file: Path) -> None:
    code, out, _ = run("inspect", train_file)
    assert code == 0
    assert "400" in out
    code, out, err = run("inspect", train_file, "--json", "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["rows"] == 400
    code, _, err = run("inspect", train_file, "--verify")
    assert code == 2
    assert "--verify checks models" in err


def test_inspect_model(run: Run, model: Path, tmp_path: Path) -> None:
    code, out, _ = run("inspect", model, "--verify")
    assert code == 0
    assert "Tagger" in out
    assert "LinearTree" in out
    code, out, err = run("inspect", model, "--json", "-q")
    assert (code, err) == (0, "")
    assert isinstance(json.loads(out), dict)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in model.iterdir():
        content = bytearray(file.read_bytes())
        if file.suffix == ".safetensors":
            content[-1] ^= 1
        (damaged / file.name).write_bytes(content)
    assert run("inspect", damaged, "-q").code == 0
    code, _, err = run("inspect", damaged, "--verify", "-q")
    assert code == 2
    assert "damaged" in err
    assert err.startswith("error: ")


def test_labels_are_all_learnt(model: Path) -> None:
    names = set(xt.load(model).label_names)
    assert names >= set(TOPICS)
    assert "ünïque/violin" in names


def test_bad_data_names_file_and_line(run: Run, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 3, seed=0)
    data.write_text(data.read_text(encoding="utf-8") + '{"text": "x", "labels"\n', encoding="utf-8")
    code, out, err = run("train", data, "--to", tmp_path / "m", "-q")
    assert (code, out) == (2, "")
    assert f"{data}, line 4" in err
    assert err.count("\n") == 1


def test_demo_answers_which_function_a_text_describes(run: Run) -> None:
    code, out, err = run("demo", "--preset", "xr-linear", "--quiet")
    assert (code, err) == (0, "")
    answers = out.partition("“eigenvalues of a symmetric matrix”")[2].partition("“")[0]
    assert "linalg.eigvalsh" in answers
    assert re.search(r"│ P +│ +[5-9]\d\.\d\d │", out)
