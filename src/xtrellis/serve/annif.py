"""Annif's REST API, so that its clients work unchanged: models are projects, and their labels vocabularies.

Paths, bodies, codes and titles of errors are those of Annif 1.4 (its OpenAPI document); a label's `uri` is its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import XtrellisError
from .api import require_short
from .batching import Found, Options
from .bodies import DOCUMENTS, INDEXED
from .messages import FORM, Answer, Request, as_json, fields, whole
from .models import Served
from .problems import Problem

if TYPE_CHECKING:
    from .app import App

VERSION = "1.4.3"  # of Annif, whose API this is
LIMIT = 10


async def info(app: App, request: Request) -> Answer:
    """GET /v1/."""
    return as_json({"title": "Annif REST API", "version": VERSION})


async def projects(app: App, request: Request) -> Answer:
    """GET /v1/projects."""
    return as_json({"projects": [_project(app, served) for served in app.models.values()]})


async def project(app: App, request: Request) -> Answer:
    """GET /v1/projects/{id}."""
    return as_json(_project(app, _served(app, request)))


async def vocabs(app: App, request: Request) -> Answer:
    """GET /v1/vocabs."""
    return as_json({"vocabs": [_vocab(app, served) for served in app.models.values()]})


async def suggest(app: App, request: Request) -> Answer:
    """POST /v1/projects/{id}/suggest: a form with text, limit, threshold, language."""
    request.require_type(FORM)
    given = fields(await request.body(), "the form", limit=100)
    served = _served(app, request)
    if "text" not in given:
        raise Problem(400, "'text' is a required property")
    found = await _suggest(app, request, served, [given["text"]], given)
    return as_json({"results": _results(found[0])})


async def suggest_batch(app: App, request: Request) -> Answer:
    """POST /v1/projects/{id}/suggest-batch: up to 32 documents."""
    asked = await request.decoded(DOCUMENTS, invalid=400)
    served = _served(app, request)
    texts = [document.text for document in asked.documents]
    found = await _suggest(app, request, served, texts, request.query())
    return as_json(
        [
            {"results": _results(one), "document_id": document.document_id}
            for one, document in zip(found, asked.documents, strict=True)
        ]
    )


async def learn(app: App, request: Request) -> Answer:
    """POST /v1/projects/{id}/learn: texts with their right labels."""
    documents = await request.decoded(INDEXED, invalid=400)
    served = _served(app, request)
    if app.journal is None or not app.settings.learn:
        detail = f"Project '{served.id}' is not configured to allow learning via API"
        raise Problem(403, detail, title="Learning not allowed")
    known = served.version.labels
    decisions: list[dict[str, Any]] = []
    for document in documents:
        if document.text is None or document.subjects is None:
            continue  # as Annif does
        named = [(subject, known.find(subject.uri)) for subject in document.subjects]
        labels = [known.id(i) if i is not None else subject.label or subject.uri for subject, i in named]
        decisions.append(
            {"text": document.text, "labels": labels, "model": served.id, "version": served.version.number}
        )
    require_short([decision["text"] for decision in decisions], app.settings.limits.text)
    request.tells(served.id, [decision["text"] for decision in decisions])
    try:
        await app.decide(served, decisions)
    except XtrellisError as error:
        raise Problem(503, str(error), title="Service unavailable") from None
    return Answer(status=204)


def _served(app: App, request: Request) -> Served:
    name = request.parts["id"]
    served = app.models.get(name)
    if served is None:
        raise Problem(404, f"Project '{name[:100]}' not found", title="Project not found")
    request.model = served.id
    return served


async def _suggest(app: App, request: Request, served: Served, texts: list[str], given: dict[str, str]) -> list[Found]:
    limit = whole(given, "limit", LIMIT)
    said = given.get("threshold", "0")
    try:
        threshold = float(said)
    except ValueError:
        threshold = -1.0
    if not 0 <= threshold <= 1:
        raise Problem(400, f"threshold must be a number from 0 to 1; got {said[:40]!r}")
    language = given.get("language")
    if language and language not in languages_of(app, served):
        raise Problem(400, f'language "{language[:40]}" not supported by vocabulary')
    spoken = (language,) if language else ()
    require_short(texts, app.settings.limits.text)
    request.tells(served.id, texts)
    if not texts:
        return []
    # `limit` is the most that a client wants: one that wants more than we give gets what we give
    k = max(1, min(limit, app.settings.limits.k, len(served.version.labels)))
    try:
        found = await app.batcher(served).ask(texts, Options(k, None, False, spoken), request)
    except XtrellisError as error:
        raise Problem(503, str(error), title="Service unavailable") from None
    return [_cut(one, limit, threshold) for one in found]


def _cut(found: Found, limit: int, threshold: float) -> Found:
    points = found.chances if found.chances is not None else found.scores
    kept = [j for j, score in enumerate(points) if score >= threshold and score > 0][:limit]
    chances = None if found.chances is None else [found.chances[j] for j in kept]
    labels, scores = [found.labels[j] for j in kept], [found.scores[j] for j in kept]
    return found._replace(labels=labels, scores=scores, chances=chances)


def _results(found: Found) -> list[dict[str, Any]]:
    """Probabilities where they are known; scores of ours that are none lie between 0 and 1 as well."""
    known, points = found.spoken, found.chances if found.chances is not None else found.scores
    code = found.version.labels.notation
    return [
        {"uri": known.id(i), "label": known.name(i), "notation": code(i), "score": max(0.0, min(1.0, score))}
        for i, score in zip(found.labels, points, strict=True)
    ]


def language_of(app: App, served: Served) -> str:
    """Of the label names: as was noted when the model was trained, or as the server was told."""
    notes = served.version.tagger.about.get("notes")
    said = notes.get("language") if isinstance(notes, dict) else None
    return said if isinstance(said, str) and said else app.settings.language


def languages_of(app: App, served: Served) -> list[str]:
    """That names can be asked for in."""
    return sorted({language_of(app, served), *served.version.labels.languages})


def _vocab(app: App, served: Served) -> dict[str, Any]:
    return {
        "vocab_id": served.id,
        "languages": languages_of(app, served),
        "size": len(served.version.labels),
        "loaded": True,
    }


def _project(app: App, served: Served) -> dict[str, Any]:
    notes = served.version.tagger.about.get("notes")
    name = notes.get("name") if isinstance(notes, dict) else None
    language = language_of(app, served)
    return {
        "project_id": served.id,
        "name": name if isinstance(name, str) else served.id,
        "language": language,
        "backend": {"backend_id": "xtrellis"},
        "vocab": _vocab(app, served),
        "vocab_language": language,
        "is_trained": True,
        "modification_time": served.version.changed.isoformat(timespec="seconds"),
    }
