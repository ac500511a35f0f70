"""What the library says, as it is typed here: its messages name parameters, the command line has options."""

from __future__ import annotations

import re

READERS = ("train", "evaluate", "compare", "inspect")  # commands that read all rows before they begin

_TYPED = (
    (r"\b(with|give) (another )?(text_column|label_column)\b(?!=)", r"\1 \2--read \3=NAME"),
    (r"\b(with|give) (another )?label_separator\b(?!=)", r"\1 \2--read 'label_separator=…'"),
    (r"(?<![\w'-])label_separator='([^']+)'", r"--read 'label_separator=\1'"),
    (r"\bgive index_base=0 or index_base=1\b", "give --read index_base=0 or --read index_base=1"),
    (r"\bwith part='(\w+)'", r"with --read part=\1"),
    (r"\bsay quotes=no\b", "say --read quotes=no"),
    (r"\bgive format, one of\b", "give --format, one of"),
    (r"^(delimiter|encoding) must be\b", r"--\1 must be"),
    (r"^skip_bad_rows is for\b", "--skip-bad-rows is for"),
    (r"^(delimiter|encoding) is for\b", r"--\1 is for"),
)
_NOT_UTF8 = re.compile(r"expected UTF-8 text; byte .* is not$")
_IF_NOT_UTF8 = {  # what can be done about it, by command
    **dict.fromkeys(("predict", "tag"), "--encoding latin-1 reads it as such, --skip-bad-rows goes on without it"),
    **dict.fromkeys(READERS, "--encoding latin-1 reads it as such, --skip-bad-rows leaves such rows out"),
    "": "if it is Latin-1: iconv -f latin1 -t utf-8 FILE > NEW",
}
_BAD_ROW = re.compile(
    r", line \d+: expected (\d+ columns; got|a JSON object;|a text, a tab|a closing quote|a separator)"
)


def as_typed(message: str, command: str = "") -> str:
    """A message of the library with the options of the command line in it."""
    for pattern, typed in _TYPED:
        message = re.sub(pattern, typed, message)
    if command == "predict":
        message = message.replace("give --format, one of ", "give --format, one of lines (every line is a text), ")
        message = message.replace("has no data that is known:", "has no data that is known (tag answers text files):")
    if _NOT_UTF8.search(message):
        message += f" ({_IF_NOT_UTF8.get(command, _IF_NOT_UTF8[''])})"
    elif command in READERS and _BAD_ROW.search(message):
        message += " (--skip-bad-rows leaves such rows out)"
    return message
