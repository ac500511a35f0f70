"""What mkdocs calls: pages that are made or fetched from elsewhere in the repository, links that lead out of docs/."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
if str(ROOT / "docs") not in sys.path:
    sys.path.insert(0, str(ROOT / "docs"))

from _site import reference  # noqa: E402 - the line above says where it is

# Documents that live beside docs/, and where the site has them.
INCLUDED = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
ELSEWHERE = {**INCLUDED, "README.md": "index.md"}  # also reached by links
# A link, unless it stands in code: whichever comes first is what counts.
_LINK = re.compile(
    r"^```.*?^```$|(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)|`[^`\n]*`",
    re.MULTILINE | re.DOTALL,
)
# What a browser would fetch by itself; links that somebody clicks are not meant.
_FETCHED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^\"'>\s]+")


def on_files(files: Files, config: Any) -> Files:
    """Add the reference, and the documents from the root of the repository."""
    made = reference.pages() | {
        place: (ROOT / name).read_text(encoding="utf-8") for name, place in INCLUDED.items() if (ROOT / name).exists()
    }
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(text: str, page: Any, config: Any, files: Files) -> str:
    """Point links at the pages of this site; a link to a source file becomes its text, for the site has none."""
    place = page.file.src_uri
    origin = next((name for name, where in INCLUDED.items() if where == place), f"docs/{place}")
    return _LINK.sub(lambda found: _relink(found, origin, place), text)


def _relink(found: re.Match[str], origin: str, place: str) -> str:
    if found["target"] is None:  # code
        return found[0]
    mark, text, target = found["mark"], found["text"], found["target"]
    path, _, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:|/", target):
        return found[0]
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    if origin.startswith("docs/") and wanted.startswith("docs/"):
        return found[0]  # within the site already
    if not (ROOT / wanted).exists() and not wanted.startswith("docs/reference/"):
        raise PluginError(f"{origin}: there is no {wanted} to link to")
    inside = ELSEWHERE.get(wanted) or (wanted.removeprefix("docs/") if wanted.startswith("docs/") else None)
    if inside is None:
        return text
    if (ROOT / "docs" / inside).is_dir():
        inside = f"{inside}/README.md"
    relative = posixpath.relpath(inside, posixpath.dirname(place) or ".")
    return f"{mark}[{text}]({relative}{'#' + anchor if anchor else ''})"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Nothing is fetched from elsewhere when a page is looked at."""
    found = _FETCHED.search(output)
    if found or 'class="mermaid"' in output:
        raise PluginError(f"{page.file.src_uri} would fetch something: {found[0] if found else 'mermaid'}")
    return output
