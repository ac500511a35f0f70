"""Our own API: `/tag`, `/explain`, `/labels`, `/models`, `/feedback`, and how the server is."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..core import InputError, XtrellisError
from . import pdf
from .batching import FEWEST, Found, Options
from .bodies import EXPLAIN, FEEDBACK, LINE, TAG, TagRequest, TextLine
from .messages import JSON, NDJSON, PDF, Answer, Request, as_json, decode, encoded, whole
from .models import Served, Version
from .problems import ClientGoneError, Problem

if TYPE_CHECKING:
    from .app import App

STRONGEST = 12  # features of a step, neighbours, reasons that an explanation shows
MOST_WORDS = 2000  # of a text that are marked
AUTOMATIC = ("auto", "auto-corpus")
GROWTH = 2  # times as many texts in a block as in the one before
MOST_LANGUAGES = 8  # that names are wanted in
T = TypeVar("T")


async def tag(app: App, request: Request) -> Answer:
    """POST /tag: labels of one text, of several, or of lines as they come."""
    kind = request.require_type(JSON, NDJSON, PDF)
    raw = await request.body()
    lines: list[Any] = []
    if kind == NDJSON:
        asked = _from_query(request)
        lines = _lines(raw)
        texts = [line.text for line in lines]
    elif kind == PDF:
        asked = _from_query(request)
        texts = [(await pdf.read(app, request, raw))["text"]]
        asked.text, asked.texts = texts[0], None
    else:
        asked = decode(raw, TAG)
        if (asked.text is None) == (asked.texts is None):
            raise Problem(422, "the body: give either text, a string, or texts, a list of strings")
        texts = [asked.text] if asked.text is not None else asked.texts or []
    del raw
    served = app.find(asked.model)
    version = served.version
    request.tells(served.id, texts)
    options = checked(app, served, texts, asked)
    if asked.explain and (len(texts) != 1 or asked.texts is not None):
        raise Problem(422, "the body: explain is for one text; POST /explain tells of one label of each")
    if NDJSON in request.header(b"accept") or kind == NDJSON:
        ids = [line.id for line in lines] if any(line.id is not None for line in lines) else None
        parts = stream(app, request, served, version, texts, ids, options)
        return Answer(content_type=NDJSON.encode(), stream=parts)
    if asked.texts is not None:
        joined = b"".join([part async for part in stream(app, request, served, version, texts, None, options)])
        about = encoded({"model": served.id, "version": version.number})
        # a line's end is the only line break there is in JSON without blanks
        return Answer(about[:-1] + b',"results":[' + joined[:-1].replace(b"\n", b",") + b"]}")
    found = (await _answers(app.batcher(served).ask(texts, options, request)))[0]
    if not asked.explain:
        return Answer(one_answer(served, found))
    one = found.to_dict()
    await _add_reasons(app, found, texts[0], one)
    return as_json({"model": served.id, "version": found.version.number, **one})


def one_answer(served: Served, found: Found) -> bytes:
    """The answer to one text."""
    return encoded({"model": served.id, "version": found.version.number, **found.to_dict()})


def _from_query(request: Request) -> TagRequest:
    """Options of a request whose body is lines."""
    given = request.query()
    unknown = sorted(set(given) - {"model", "k", "threshold", "guess", "languages"})
    if unknown:
        has = "it has model, k, threshold, guess and languages"
        raise Problem(400, f"the query has no parameter {unknown[0][:40]!r}; {has}")
    cut: Any = given.get("threshold")
    if cut is not None and cut not in AUTOMATIC:
        try:
            cut = float(cut)
        except ValueError:
            raise Problem(400, f"threshold must be a number, auto or auto-corpus; got {cut[:40]!r}") from None
    guess = given.get("guess", "false")
    if guess not in ("true", "false"):
        raise Problem(400, f"guess must be true or false; got {guess[:40]!r}")
    k = whole(given, "k", 5, at_least=1)
    spoken = [one for one in given.get("languages", "").split(",") if one]
    return TagRequest(texts=[], model=given.get("model"), k=k, threshold=cut, guess=guess == "true", languages=spoken)


def _lines(raw: bytes) -> list[TextLine]:
    """All at once; what is wrong with one of them is found line by line."""
    try:
        return LINE.decode_lines(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = enumerate(raw.splitlines(), 1)
        return [decode(line, LINE, where=f"line {i}") for i, line in found if line.strip()]


def checked(app: App, served: Served, texts: Sequence[str], asked: TagRequest) -> Options:
    """Within limits, and possible with this model."""
    limits = app.limits
    if len(texts) > limits.texts:
        raise Problem(413, f"at most {limits.texts:,} texts in one request; got {len(texts):,}")
    require_short(texts, limits.text)
    if asked.k > limits.k:
        raise Problem(422, f"k must be at most {limits.k}; got {asked.k}")
    if asked.threshold in AUTOMATIC and not served.version.probabilities:
        raise Problem(422, f"threshold {asked.threshold!r} needs probabilities, which {served.id} does not know")
    if isinstance(asked.threshold, float) and not -1e300 < asked.threshold < 1e300:
        raise Problem(422, "threshold must be a finite number")
    spoken = tuple(asked.languages)
    if spoken and (len(spoken) > MOST_LANGUAGES or any(not 0 < len(language) <= 40 for language in spoken)):
        raise Problem(422, f"languages must be at most {MOST_LANGUAGES} codes such as en or sv-FI")
    return Options(min(asked.k, len(served.version.labels)), asked.threshold, asked.guess, spoken)


def require_short(texts: Sequence[str], most: int) -> None:
    """Refuse texts beyond the limit."""
    for i, text in enumerate(texts):
        if len(text) > most:
            which = f" {i + 1}" if len(texts) > 1 else ""
            raise Problem(413, f"text{which} has {len(text):,} characters; at most {most:,} are allowed")


async def _answers(coming: Awaitable[T]) -> T:
    try:
        return await coming
    except XtrellisError as error:
        raise Problem(422, str(error)) from None


async def stream(
    app: App,
    request: Request,
    served: Served,
    version: Version,
    texts: Sequence[str],
    ids: Sequence[Any] | None,
    options: Options,
) -> AsyncIterator[bytes]:
    """A line for each text, block by block, all by one version of the model."""
    batcher, begin = app.batcher(served), 0

    def ask(begin: int, end: int) -> Awaitable[bytes]:
        return batcher.ask_lines(version, texts[begin:end], options, request, None if ids is None else ids[begin:end])

    end = min(len(texts), FEWEST)
    coming = ask(0, end)
    while begin < len(texts):
        lines = await _answers(coming)
        if request.gone:
            raise ClientGoneError
        # Blocks grow: the first lines come soon, and who leaves then is noticed before most of the work.
        begin, end = end, min(len(texts), end + min(batcher.block(), GROWTH * (end - begin)))
        if begin < end:  # the next block is looked at while this one is sent
            coming = ask(begin, end)
        yield lines


# ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def explain(app: App, request: Request) -> Answer:
    """POST /explain: why one label fits a text or does not."""
    asked = await request.decoded(EXPLAIN)
    served = app.find(asked.model)
    version = served.version
    request.tells(served.id, [asked.text])
    require_explainable(app, version, asked.text)
    label = await app.in_thread(version.labels.find, asked.label)
    if label is None:
        raise Problem(422, f"the model has no label {asked.label[:100]!r}; GET /labels?q= finds names")
    why = await app.in_thread(reasons, version, asked.text, label)
    return as_json({"model": served.id, "version": version.number, **why})


def require_explainable(app: App, version: Version, text: str) -> None:
    """Refuse what cannot be explained, or would take too long."""
    if version.why_no_explanation is not None:
        raise Problem(422, version.why_no_explanation)
    require_short([text], app.settings.limits.explained)


async def _add_reasons(app: App, found: Found, text: str, one: dict[str, Any]) -> None:
    require_explainable(app, found.version, text)
    for label, described in zip(found.labels, one["tags"], strict=True):
        described["why"] = await app.in_thread(reasons, found.version, text, label)


def reasons(version: Version, text: str, label: int) -> dict[str, Any]:
    """An explanation as plain data, without what nobody would look at."""
    try:
        told = version.tagger.explain(text, version.labels.name(label)).to_dict()
    except InputError as error:
        raise Problem(422, str(error)) from None
    words = sorted(told["words"], key=lambda word: -abs(word["push"]))[:MOST_WORDS]
    marked = [[word["start"], word["end"], word["push"]] for word in sorted(words, key=lambda word: word["start"])]
    told = {key: value for key, value in _shortened(told).items() if key != "words"}
    return {**version.labels.describe(label), **told, "label": version.labels.name(label), "words": marked}


def _shortened(told: dict[str, Any]) -> dict[str, Any]:
    """Lists of features, neighbours and reasons with the strongest of them only."""
    out: dict[str, Any] = {}
    for key, value in told.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            most = STRONGEST if key in ("features", "neighbors", "reasons", "paths") else len(value)
            out[key] = [_shortened(one) for one in value[:most]]
        else:
            out[key] = _shortened(value) if isinstance(value, dict) else value
    return out


# ── models and labels ───────────────────────────────────────────────────────────────────────────────────────────────


async def models(app: App, request: Request) -> Answer:
    """GET /models."""
    return as_json({"models": [_brief(served) for served in app.models.values()]})


def _brief(served: Served) -> dict[str, Any]:
    version = served.version
    return {
        "id": served.id,
        "version": version.number,
        "kind": type(version.tagger.model).__name__,
        "labels": len(version.labels),
        "languages": version.labels.languages,
        "rows": version.tagger.n_rows,
        "probabilities": version.probabilities,
        "explains": version.why_no_explanation is None,
        "tree": version.tree is not None,
        "changed": version.changed.isoformat(timespec="seconds"),
        "loaded": version.loaded.isoformat(timespec="seconds"),
    }


async def model(app: App, request: Request) -> Answer:
    """GET /models/{id}: the model card."""
    served = app.find(request.parts["id"], missing=404)
    version = served.version
    about = version.tagger.about
    tree = None if version.tree is None else version.tree.tree.describe()
    counts = version.labels.counts
    rare = {f"{n}": int((counts <= n).sum()) for n in (1, 5, 10, 100)} if version.tagger.n_rows else None
    return as_json(
        {
            **_brief(served),
            "about": about,
            "tree_shape": tree,
            "labels_with_rows_at_most": rare,
            "folder": version.description,
            "fault": served.fault,
            "feedback": app.journal is not None,
            "learns": app.settings.learn,
            "reads_pdf": pdf.available(),
            "limits": {name: getattr(app.settings.limits, name) for name in ("text", "k", "explained")},
        }
    )


async def labels(app: App, request: Request) -> Answer:
    """GET /labels?q=: names that hold what is typed; all by frequency or name without it."""
    given = request.query()
    typed, order = given.get("q", ""), given.get("order", "frequency")
    if len(typed) > 1000:
        raise Problem(400, f"q must be at most 1,000 characters; got {len(typed):,}")
    if order not in ("frequency", "name"):
        raise Problem(400, f"order must be frequency or name; got {order[:40]!r}")
    limit, offset = whole(given, "limit", 20, at_least=1, at_most=200), whole(given, "offset", 0, at_most=2**31)
    version = app.find(given.get("model"), missing=404).version

    def look() -> dict[str, Any]:
        known = version.labels
        found = known.by_name if order == "name" and not typed.strip() else known.search(typed)
        page = found[offset : offset + limit].tolist()
        return {"total": len(found), "offset": offset, "labels": [known.describe(i) for i in page]}

    return as_json(await app.in_thread(look))


async def tree(app: App, request: Request) -> Answer:
    """GET /models/{id}/tree?node=: a node of the label tree."""
    version = app.find(request.parts["id"], missing=404).version
    node = whole(request.query(), "node", 0, at_most=2**31)
    view = version.tree
    if view is None:
        raise Problem(404, f"a {type(version.tagger.model).__name__} has no label tree")
    if node >= view.tree.n_nodes:
        raise Problem(404, f"the tree has nodes 0 to {view.tree.n_nodes - 1}; got {node}")
    return as_json(await app.in_thread(view.show, node))


async def feedback(app: App, request: Request) -> Answer:
    """POST /feedback: a decision, which is kept, and offered to the model if the server lets it learn."""
    asked = await request.decoded(FEEDBACK)
    served = app.find(asked.model)
    request.tells(served.id, [asked.text])
    if app.journal is None:
        raise Problem(403, "decisions are not kept here; xtrellis serve --feedback FOLDER keeps them")
    require_short([asked.text], app.settings.limits.text)
    find, known = served.version.labels.find, served.version.labels.id
    found = await app.in_thread(lambda: [find(name) for name in asked.labels])
    names = [said if i is None else known(i) for said, i in zip(asked.labels, found, strict=True)]
    decision = {"text": asked.text, "labels": names, "rejected": asked.rejected, "added": asked.added}
    learned = await app.decide(served, [{**decision, "model": served.id, "version": served.version.number}])
    unknown = [said for said, i in zip(asked.labels, found, strict=True) if i is None]
    return as_json({"kept": True, "learned": learned > 0, "unknown": unknown, "version": served.version.number})


# ── how the server is ───────────────────────────────────────────────────────────────────────────────────────────────


async def health(app: App, request: Request) -> Answer:
    """GET /health: 200 while it can answer; `degraded` if a replaced model could not be loaded."""
    faulty = {served.id: served.fault for served in app.models.values() if served.fault is not None}
    versions = {served.id: served.version.number for served in app.models.values()}
    return as_json(
        {"status": "degraded" if faulty else "ok", "models": versions, "faulty": sorted(faulty), "worker": os.getpid()}
    )


async def metrics(app: App, request: Request) -> Answer:
    """GET /metrics, for Prometheus."""
    return Answer(app.counters.text().encode(), b"text/plain; version=0.0.4; charset=utf-8")
