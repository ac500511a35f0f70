"""A real browser, and a server with a model for it to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from serve_world import Server, trained

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium (`make chromium` installs it where it may): the page is not tested")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "topics"
    trained().save(path)
    return path


@pytest.fixture(scope="session")
def server(model: Path) -> Iterator[Server]:
    made = Server(model, "--feedback", model.parent / "kept")
    yield made
    assert made.stop() == 0


class Watched:
    """A page, and everything that it should not do."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.wrong = page, []
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", lambda told: self.wrong.append(told.text) if told.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: None if asked.url.startswith(url) else self.wrong.append(asked.url))
        page.goto(url)
        page.wait_for_selector("html[data-ready]")


@pytest.fixture
def open_page(browser: Browser, server: Server):
    """`open_page(width=375)`: a page at `/`; in the end nothing may have gone wrong on it."""
    made: list[Watched] = []

    def make(*, width: int = 1200, height: int = 800, dark: bool = False, url: str | None = None) -> Page:
        scheme = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.set_default_timeout(20_000)
        made.append(Watched(context.new_page(), url or server.url))
        return made[-1].page

    yield make
    for watched in made:
        watched.page.context.close()
        assert watched.wrong == []
