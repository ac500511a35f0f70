"""The API, asked at random by its own description: schemathesis makes requests, right and wrong ones."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress

import pytest
import schemathesis
from attacks.common import RESULTS
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serve_world import Server

from xtrellis.experiments import stamp

EXAMPLES = int(os.environ.get("XTRELLIS_FUZZ_EXAMPLES", "25"))  # of each operation, in each mode
RECORD = bool(os.environ.get("XTRELLIS_FUZZ_RECORD"))  # `python -m attacks.page` shows it
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@schemathesis.serializer("application/pdf")
def as_file(context: object, value: object) -> bytes:
    return bytes(value) if isinstance(value, (bytes, bytearray)) else b"%PDF-" + str(value).encode("utf-8", "replace")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_makes_the_server_fail(server: Server, mode: GenerationMode) -> None:
    outcomes: dict[str, Counter[str]] = {}
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    for found in schema.get_all_operations():
        operation = found.ok()
        outcomes[f"{operation.method.upper()} {operation.path}"] = Counter()

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None, database=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: schemathesis.Case) -> None:
            counts, answer = outcomes[f"{case.operation.method.upper()} {case.operation.path}"], case.call()
            counts[
                "answered" if answer.status_code < 400 else "refused" if answer.status_code < 500 else "raw error"
            ] += 1
            case.validate_response(answer, checks=CHECKS)

        with suppress(Unsatisfiable):  # nothing can be wrong with a request that holds nothing
            ask()
    assert server.metric("xtrellis_faults_total") == 0
    assert sum(counts.total() for counts in outcomes.values()) > EXAMPLES * 5
    if RECORD:
        record(outcomes)


def record(outcomes: dict[str, Counter[str]]) -> None:
    """A line for docs/reliability.md; both modes of a run are one."""
    path, begun = RESULTS / "serve.jsonl", os.environ["PYTEST_CURRENT_TEST"].split("[")[1].startswith("positive")
    lines = path.read_text().splitlines() if path.exists() else []
    before = {} if begun else json.loads(lines.pop())["groups"]
    groups = {name: dict(Counter(before.get(name, {})) + counts) for name, counts in outcomes.items()}
    total = sum((Counter(counts) for counts in groups.values()), Counter())
    facts = {"attack": "serve", "seed": 0, "cases": total.total(), "outcomes": dict(total), "errors": {}}
    lines.append(json.dumps({**stamp(), "uncommitted": True, **facts, "groups": groups, "faults": []}))
    path.write_text("\n".join(lines) + "\n")
