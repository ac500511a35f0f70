"""What requests hold, as types: they are checked by these, and the API's description is made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Texts = Annotated[list[str], Meta(min_length=1, description="Several texts, answered in this order.")]
ModelId = Annotated[str, Meta(description="The model's id; not needed where there is one only.")]
K = Annotated[int, Meta(ge=1, description="Labels a text gets at most.")]
Cut = Annotated[
    float | Literal["auto", "auto-corpus"],
    Meta(
        description="Only labels with at least this probability, or score if the model knows none; `auto` cuts each "
        "text where its expected F1 is best."
    ),
]
Guess = Annotated[bool, Meta(description="Answer texts without any known word with labels that are likely anyway.")]
Languages = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=40)]],
    Meta(
        max_length=8,
        description="Languages that labels are wanted in, the dearest first, where the model's vocabulary has such "
        "names; else they are called as the model calls them.",
    ),
]
Names = list[Annotated[str, Meta(max_length=10_000, pattern=r"\S")]]  # not blank


class TagRequest(Struct, forbid_unknown_fields=True):
    """One `text` or several `texts`."""

    text: str | None = None
    texts: Texts | None = None
    model: ModelId | None = None
    k: K = 5
    threshold: Cut | None = None
    guess: Guess = False
    explain: Annotated[bool, Meta(description="Say of each label why; for one text.")] = False
    languages: Languages = []


class TextLine(Struct):
    """A line of newline-delimited JSON; what else it holds is passed over."""

    text: str
    id: str | int | None = None


class ExplainRequest(Struct, forbid_unknown_fields=True):
    """Why a label fits a text or does not."""

    text: str
    label: Annotated[str, Meta(description="Name or id of the label.", max_length=10_000)]
    model: ModelId | None = None


class FeedbackRequest(Struct, forbid_unknown_fields=True):
    """What somebody decided about a text."""

    text: str
    labels: Annotated[Names, Meta(max_length=1000, description="Those that are right, by name or id.")]
    rejected: Annotated[Names, Meta(max_length=1000, description="Those that were suggested and are wrong.")] = []
    added: Annotated[Names, Meta(max_length=1000, description="Those of `labels` that were not suggested.")] = []
    model: ModelId | None = None


class Document(Struct):
    """Annif's: a text, and what it is called."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] | None = None


class Documents(Struct):
    """Annif's: texts for one request."""

    documents: Annotated[list[Document], Meta(max_length=32)]


class Subject(Struct):
    """Annif's: a label."""

    uri: str
    label: str | None = None


class IndexedDocument(Struct):
    """Annif's: a text and its right labels."""

    text: str | None = None
    subjects: list[Subject] | None = None
    metadata: dict[str, str] | None = None


TAG = msgspec.json.Decoder(TagRequest)
LINE = msgspec.json.Decoder(TextLine)
EXPLAIN = msgspec.json.Decoder(ExplainRequest)
FEEDBACK = msgspec.json.Decoder(FeedbackRequest)
DOCUMENTS = msgspec.json.Decoder(Documents)
INDEXED = msgspec.json.Decoder(list[IndexedDocument])
REQUESTS: tuple[Any, ...] = (TagRequest, TextLine, ExplainRequest, FeedbackRequest, Documents, IndexedDocument)
