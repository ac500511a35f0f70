"""For all tests: time is no failure, every run has the same examples, and sources can be parsed."""

from __future__ import annotations

import ast
import gc
import sys
from typing import Any

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# Before CPython 3.11.8 and 3.12.2, parsing fails ("AST constructor recursion depth mismatch", gh-106905) if garbage is
# collected in the middle of it and a finalizer parses something too, as tracebacks of 3.11 do to place their carets.
# pytest parses sources to show failures: one such moment ends the whole run. So nothing is collected meanwhile.
if sys.version_info < (3, 11, 8) or (3, 12) <= sys.version_info < (3, 12, 2):
    parse = ast.parse

    def parse_undisturbed(*args: Any, **options: Any) -> ast.AST:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return parse(*args, **options)
        finally:
            if collecting:
                gc.enable()

    ast.parse = parse_undisturbed
