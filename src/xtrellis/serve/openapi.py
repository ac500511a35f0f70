"""The API's description (OpenAPI 3.1): made from the routes and from the types that check requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .. import __version__
from .access import LEARN, OPEN
from .bodies import REQUESTS
from .messages import FORM, JSON, NDJSON, PDF
from .settings import Settings

if TYPE_CHECKING:
    from .app import Route

REF = "#/components/schemas/{name}"
_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_OBJECT = {"type": "object"}
_BYTES = {"type": "string", "format": "binary"}


def document(settings: Settings, routes: Sequence[Route]) -> dict[str, Any]:
    """All of it; limits are those of this server."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.path in OPERATIONS:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, settings)
    _, requests = msgspec.json.schema_components(REQUESTS, ref_template=REF)
    for schema in (requests["TagRequest"]["properties"],):
        schema["k"] = {**schema["k"], "maximum": settings.limits.k}
        schema["texts"] = _limited(schema["texts"], settings.limits.texts)
    security = {"token": {"type": "http", "scheme": "bearer"}} if settings.token or settings.learn_token else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "xtrellis",
            "version": __version__,
            "description": "The few right labels of a text among thousands to millions. Errors are problem+json "
            "(RFC 9457). Paths below /v1 are those of Annif's REST API.",
        },
        "paths": paths,
        "components": {
            "schemas": {**requests, **ANSWERS},
            **({"securitySchemes": security} if security else {}),
        },
    }


def _limited(schema: dict[str, Any], most: int) -> dict[str, Any]:
    return {
        **schema,
        "anyOf": [{**one, "maxItems": most} if one.get("type") == "array" else one for one in schema["anyOf"]],
    }


def _operation(route: Route, settings: Settings) -> dict[str, Any]:
    told = OPERATIONS[route.path]
    codes = {**told["codes"], 421: "another host's name"}
    if route.method == "POST":
        codes |= {400: "malformed", 408: "too slow", 413: "too large", 415: "of another type"}
    if route.works:
        codes[429] = "too much at a time"
    needs_token = bool(settings.learn_token or settings.token) if route.needs == LEARN else bool(settings.token)
    if route.needs != OPEN and needs_token:
        codes |= {401: "no token", **({403: "not allowed"} if route.needs == LEARN else {})}
    problem = {"application/problem+json": {"schema": _ref("Problem")}}
    answers: dict[str, Any] = {
        str(code): {"description": meaning, "content": problem} for code, meaning in sorted(codes.items())
    }
    answers |= told["answers"]
    parameters = [*told.get("parameters", [])]
    if "{id}" in route.path:
        parameters.insert(
            0, {"name": "id", "in": "path", "required": True, "schema": {"enum": [name for name, _ in settings.models]}}
        )
    return {
        "summary": told["summary"],
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "tags": ["Annif" if route.path.startswith("/v1") else "xtrellis"],
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": told["body"]}} if "body" in told else {}),
        "responses": dict(sorted(answers.items())),
        **({"security": [{"token": []}]} if route.needs != OPEN and needs_token else {}),
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": REF.format(name=name)}


def _list(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, **more}


def _json(schema: dict[str, Any], meaning: str = "done") -> dict[str, Any]:
    return {"200": {"description": meaning, "content": {JSON: {"schema": schema}}}}


def _shape(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


def _query(name: str, schema: dict[str, Any], meaning: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": meaning}


def _maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


ANSWERS: dict[str, Any] = {
    "Problem": _shape("title status detail", type=_STRING, title=_STRING, status=_INTEGER, detail=_STRING),
    "Tag": _shape(
        "id label score probability", id=_STRING, label=_STRING, score=_NUMBER, probability=_maybe(_NUMBER), why=_OBJECT
    ),
    "Tags": _shape("tags", tags=_list(_ref("Tag")), reason=_STRING),
    "Tagged": _shape(
        "model version",
        model=_STRING,
        version=_INTEGER,
        tags=_list(_ref("Tag")),
        reason=_STRING,
        results=_list(_ref("Tags")),
    ),
    "Label": _shape("id label rows", id=_STRING, label=_STRING, rows=_INTEGER),
    "Model": _shape(
        "id version kind labels", id=_STRING, version=_INTEGER, kind=_STRING, labels=_INTEGER, rows=_INTEGER
    ),
    "Node": _shape("node n_labels typical", node=_INTEGER, n_labels=_INTEGER, typical=_list(_STRING)),
    "Suggestions": _shape(
        "results",
        results=_list(_shape("uri label score", uri=_STRING, label=_STRING, notation=_maybe(_STRING), score=_NUMBER)),
    ),
    "Project": _shape("project_id name language backend", project_id=_STRING, name=_STRING, language=_STRING),
    "Vocabulary": _shape("vocab_id", vocab_id=_STRING, languages=_list(_STRING), size=_INTEGER, loaded=_FLAG),
}
_LIMIT = {"type": "integer", "minimum": 0, "default": 10}
_THRESHOLD = {"type": "number", "minimum": 0, "maximum": 1, "default": 0}
_FOUND = {404: "there is no such model"}
_LINES = [
    _query("model", _STRING, "The model's id; of lines and PDF files only"),
    _query("k", {"type": "integer", "minimum": 1}, "Labels a text gets at most; of lines and PDF files only"),
    _query("threshold", _STRING, "A number, auto or auto-corpus; of lines and PDF files only"),
    _query("guess", {"enum": ["true", "false"]}, "Of lines and PDF files only"),
    _query("languages", _STRING, "Of label names, the dearest first: sv,en; of lines and PDF files only"),
]
OPERATIONS: dict[str, dict[str, Any]] = {
    "/tag": {
        "summary": "Labels of one text or several; as lines if the body is, or if Accept says so",
        "parameters": _LINES,
        "body": {JSON: {"schema": _ref("TagRequest")}, NDJSON: {"schema": _ref("TextLine")}, PDF: {"schema": _BYTES}},
        "answers": {
            "200": {
                "description": "labels, best first",
                "content": {JSON: {"schema": _ref("Tagged")}, NDJSON: {"schema": _ref("Tags")}},
            }
        },
        "codes": {422: "wrong values"},
    },
    "/text": {
        "summary": "The text of a PDF file",
        "body": {PDF: {"schema": _BYTES}},
        "answers": _json(_shape("text pages read", text=_STRING, pages=_INTEGER, read=_INTEGER)),
        "codes": {422: "no PDF file, damaged, locked, or without text"},
    },
    "/explain": {
        "summary": "Why a label fits a text or does not: words, ways through the tree, neighbours, names",
        "body": {JSON: {"schema": _ref("ExplainRequest")}},
        "answers": _json(_shape("label score words", label=_STRING, score=_NUMBER, words=_list({"type": "array"}))),
        "codes": {422: "wrong values, or a model that cannot explain"},
    },
    "/models": {
        "summary": "Which models there are",
        "answers": _json(_shape("models", models=_list(_ref("Model")))),
        "codes": {},
    },
    "/models/{id}": {"summary": "The model card", "answers": _json(_ref("Model")), "codes": _FOUND},
    "/models/{id}/tree": {
        "summary": "A node of the label tree",
        "parameters": [_query("node", {"type": "integer", "minimum": 0, "default": 0}, "its number; 0 is the root")],
        "answers": _json(_ref("Node")),
        "codes": {**_FOUND, 400: "wrong values"},
    },
    "/labels": {
        "summary": "Search label names, or list them",
        "parameters": [
            _query("q", {"type": "string", "maxLength": 1000}, "what the name holds"),
            _query("model", _STRING, "the model's id; not needed where there is one only"),
            _query("order", {"enum": ["frequency", "name"]}, "of all labels, if q is empty"),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 20}, "labels at most"),
            _query("offset", {"type": "integer", "minimum": 0, "maximum": 2**31}, "labels to pass over"),
        ],
        "answers": _json(_shape("total labels", total=_INTEGER, offset=_INTEGER, labels=_list(_ref("Label")))),
        "codes": {**_FOUND, 400: "wrong values", 422: "several models, and none named"},
    },
    "/feedback": {
        "summary": "Keep a decision, and offer it to the model",
        "body": {JSON: {"schema": _ref("FeedbackRequest")}},
        "answers": _json(_shape("kept learned", kept=_FLAG, learned=_FLAG, unknown=_list(_STRING), version=_INTEGER)),
        "codes": {403: "decisions are not kept here", 422: "wrong values"},
    },
    "/health": {
        "summary": "How the server is",
        "answers": _json(_shape("status models", status={"enum": ["ok", "degraded"]}, models=_OBJECT)),
        "codes": {},
    },
    "/metrics": {
        "summary": "Counters for Prometheus",
        "answers": {"200": {"description": "text", "content": {"text/plain": {"schema": _STRING}}}},
        "codes": {},
    },
    "/v1/": {
        "summary": "Version",
        "answers": _json(_shape("title version", title=_STRING, version=_STRING)),
        "codes": {},
    },
    "/v1/projects": {
        "summary": "Models as projects",
        "answers": _json(_shape("projects", projects=_list(_ref("Project")))),
        "codes": {},
    },
    "/v1/projects/{id}": {"summary": "A project", "answers": _json(_ref("Project")), "codes": _FOUND},
    "/v1/vocabs": {
        "summary": "Vocabularies",
        "answers": _json(_shape("vocabs", vocabs=_list(_ref("Vocabulary")))),
        "codes": {},
    },
    "/v1/projects/{id}/suggest": {
        "summary": "Subjects of a text",
        "body": {
            FORM: {
                "schema": {
                    **_shape("text", text=_STRING, limit=_LIMIT, threshold=_THRESHOLD, language=_STRING),
                    "additionalProperties": _STRING,
                }
            }
        },
        "answers": _json(_ref("Suggestions")),
        "codes": {**_FOUND, 503: "the model cannot"},
    },
    "/v1/projects/{id}/suggest-batch": {
        "summary": "Subjects of up to 32 texts",
        "parameters": [
            _query("limit", _LIMIT, "subjects at most"),
            _query("threshold", _THRESHOLD, "least score"),
            _query("language", _STRING, "of labels"),
        ],
        "body": {JSON: {"schema": _ref("Documents")}},
        "answers": _json(_list(_ref("Suggestions"))),
        "codes": {**_FOUND, 503: "the model cannot"},
    },
    "/v1/projects/{id}/learn": {
        "summary": "Learn from texts with their right subjects",
        "body": {JSON: {"schema": _list(_ref("IndexedDocument"))}},
        "answers": {"204": {"description": "learned"}},
        "codes": {**_FOUND, 403: "learning is not allowed here", 503: "the model cannot"},
    },
}
