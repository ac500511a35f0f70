"""The page, in a real browser: the whole way, by keyboard, narrow, dark, for screen readers, and under attack."""

from __future__ import annotations

import json
import re
from pathlib import Path

import axe_playwright_python
import pytest
from pdf_world import made
from pdf_world import page as pdf_page
from playwright.sync_api import Page, expect
from serve_world import HOSTILE, TOPICS, Server, trained

import xtrellis as xt

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", {clipboardData, cancelable: true}));
}"""
TEXT = "Knead the dough with flour and yeast, then bake a crust in the oven \U0001f35e under a full moon."


def find(page: Page, text: str = TEXT) -> list[str]:
    if len(text) < 100_000:
        page.fill("#text", text)
        page.click("text=Find labels")
    else:
        page.evaluate(PASTE, text)
    page.wait_for_selector(".tag, .empty:not([hidden])")
    expect(page.locator(".labels-list")).not_to_have_attribute("aria-busy", "true")
    return page.locator(".tag .name").all_inner_texts()


def decisions(model: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (model.parent / "kept" / "topics.jsonl").read_text().splitlines()]


def serious(page: Page) -> list[str]:
    """What axe-core finds; it is run by the debugger, which the page's policy does not concern."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0].get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_the_whole_way(open_page, server: Server, model: Path) -> None:
    page = open_page()
    page.fill("#k", "3")
    names = find(page)
    assert names[0] == "baking"
    assert names == [tag["label"].replace("\u202e", "·") for tag in server.tag(TEXT, k=3)]
    first = page.locator(".tag").first
    expect(first.locator(".share")).to_contain_text("%")
    first.locator(".tag-name").hover()
    expect(page.locator(".marks mark", has_text="dough")).to_be_visible()
    assert page.locator(".marks").inner_text().strip() == TEXT
    first.locator(".tag-name").click()
    expect(first.locator(".why")).to_contain_text("The way through the tree")
    first.get_by_role("button", name="Accept").click()
    page.locator(".tag").nth(1).get_by_role("button", name="Reject").click()
    page.fill(".picker input", "cafe")
    page.click(".picker li >> text=Café culture")
    expect(page.locator(".decide")).to_contain_text("2 accepted, 1 rejected")
    page.click("text=Send decision")
    expect(page.locator("#said")).to_contain_text("kept for the next training")
    last = decisions(model)[-1]
    assert (last["text"], last["labels"], last["added"]) == (TEXT, ["baking", "Café culture"], ["Café culture"])
    assert last["rejected"] == [names[1]]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Copy labels")
    assert page.evaluate("navigator.clipboard.readText()") == "baking\nCafé culture"


def test_views_of_labels_and_model(open_page) -> None:
    page = open_page()
    page.click("nav >> text=Labels")
    expect(page.locator("section").first.locator(".label-row")).to_have_count(len(TOPICS))
    expect(page.locator("section").nth(1)).to_contain_text("all labels")
    page.fill("#label-search", "caf")
    expect(page.locator("section").first.locator(".label-row")).to_have_count(1)
    page.click("nav >> text=Model")
    expect(page.locator("h1")).to_have_text("Topics")
    expect(page.locator(".metrics")).to_contain_text("P@1")
    expect(page.locator(".chart")).to_be_visible()
    page.go_back()
    expect(page.locator("h1")).to_have_text("Labels")


def test_by_keyboard_alone(open_page, model: Path) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "text":
            break
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.insert_text(TEXT)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".tag-name").first).to_be_visible()
    expect(page.locator(".labels-list")).not_to_have_attribute("aria-busy", "true")
    for _ in range(12):
        page.keyboard.press("Tab")
        if "tag-name" in page.evaluate("document.activeElement.className"):
            break
    expect(page.locator(".tag-name").first).to_be_focused()
    expect(page.locator(".marks mark").first).to_be_attached()
    page.keyboard.press("y")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator(".tag").nth(1).locator(".why")).to_contain_text("tree")
    while page.evaluate("document.activeElement.getAttribute('role')") != "combobox":
        page.keyboard.press("Tab")
    page.keyboard.insert_text("law")
    expect(page.locator("[role=option]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".decide")).to_contain_text("2 accepted, 1 rejected")
    while page.evaluate("document.activeElement.textContent") != "Send decision":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("Thank you")
    assert decisions(model)[-1]["labels"] == ["baking", "law"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [375, 1200])
def test_everybody_can_use_it(open_page, width: int, dark: bool) -> None:
    """axe-core finds nothing serious, and nothing is wider than the screen."""
    page = open_page(width=width, dark=dark)
    find(page)
    page.locator(".tag-name").first.click()
    page.wait_for_selector(".why .steps")
    page.fill(".picker input", "a")
    page.wait_for_selector("[role=option]")
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) < 200) == dark
    for view in ("Tag", "Labels", "Model"):
        page.click(f"nav >> text={view}")
        page.wait_for_selector("h1")
        page.wait_for_timeout(300)
        assert serious(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_about_the_api(open_page, server: Server) -> None:
    page = open_page()
    page.goto(f"{server.url}/docs")
    page.click("summary >> text=/explain")
    expect(page.locator("details[open]")).to_contain_text("ExplainRequest")
    assert serious(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> attack payload <img src=x onerror=alert(1)> browser page",
        "\u202e\u2066 oven \u0000 dough \u2069 flour",
        "{{7*7}} ${alert(1)} '\"><svg onload=alert(1)> browser element payload",
        "oven dough flour yeast " * 45_000,  # 1 MB
    ],
    ids=["script", "bidi", "template", "megabyte"],
)
def test_hostile_texts_are_texts(open_page, text: str) -> None:
    page = open_page()
    names = find(page, text)
    assert names
    page.locator(".tag-name").first.click()
    page.wait_for_selector(".why :not(:empty)")
    page.wait_for_timeout(300)
    assert page.locator("main script, main img, main svg").count() == 0
    for name in page.locator(".tag .name").all_inner_texts():
        assert "\u202e" not in name
    if "payload" in text:
        assert HOSTILE in names


def test_a_file_is_read(open_page, tmp_path: Path) -> None:
    page = open_page()
    (tmp_path / "text.md").write_text("# Dough\n\nflour and yeast", encoding="utf-8")
    page.set_input_files("input[type=file]", tmp_path / "text.md")
    expect(page.locator(".tag-name").first).to_contain_text("baking")
    (tmp_path / "not.txt").write_bytes(b"\x00\x01\x02")
    page.set_input_files("input[type=file]", tmp_path / "not.txt")
    expect(page.locator("#said")).to_contain_text("not a text file")


def test_a_pdf_file_is_read(open_page, browser, server: Server, tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(made(pdf_page("knead the dough"), pdf_page("with flour and yeast")))
    page = open_page()
    page.set_input_files("input[type=file]", tmp_path / "paper.pdf")
    expect(page.locator(".tag-name").first).to_contain_text("baking")
    expect(page.locator("#text")).to_have_value(re.compile("knead the dough\\s+with flour"))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    other = browser.new_page()  # browsers complain of any 4xx
    other.goto(server.url)
    other.wait_for_selector("html[data-ready]")
    other.set_input_files("input[type=file]", tmp_path / "broken.pdf")
    expect(other.locator("#said")).to_contain_text("broken.pdf: the PDF file is damaged")
    other.close()


def test_names_in_another_language(browser, tmp_path: Path) -> None:
    """And two labels of one name are two: a verdict on one is none on the other."""
    texts = ["fish in the lake swim", "fish from the oven", "boats on the lake"] * 30
    ids = [["v:animal"], ["v:food"], ["v:boats"]] * 30
    labels = [
        xt.Label("v:animal", {"en": "fish", "fi": "kalat"}),
        xt.Label("v:food", {"en": "fish", "fi": "kala"}),
        xt.Label("v:boats", {"en": "boats", "fi": "veneet"}),
    ]
    model = xt.LinearTree(index=xt.BalancedTree(max_leaf=2), threads=1)
    tagger = xt.Tagger(xt.Vectorizer(), model, vocabulary=xt.Vocabulary(labels), language="en").fit(texts, ids)
    tagger.save(tmp_path / "library")
    server = Server(tmp_path / "library", "--feedback", tmp_path / "kept")
    page = browser.new_page()
    try:
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        assert sorted(find(page, "fish in the lake, fish from the oven, boats")) == ["boats", "fish", "fish"]
        page.locator(".tag .yes").nth(0).click()
        expect(page.locator(".tag.yes")).to_have_count(1)
        page.select_option("#spoken", label="in Finnish")
        expect(page.locator(".tag .name", has_text="veneet")).to_be_visible()
        assert sorted(page.locator(".tag .name").all_inner_texts()) == ["kala", "kalat", "veneet"]
        expect(page.locator(".tag.yes")).to_have_count(1)
        page.click("text=Send decision")
        expect(page.locator("#said")).to_contain_text("Thank you")
        kept = json.loads((tmp_path / "kept" / "library.jsonl").read_text())
        assert len(kept["labels"]) == 1
        assert kept["labels"][0].startswith("v:")
    finally:
        page.close()
        server.stop()


def test_three_similar_texts_and_the_others_on_request(browser, tmp_path: Path) -> None:
    trained("neighbors").save(tmp_path / "similar")
    server = Server(tmp_path / "similar")
    page = browser.new_page(viewport={"width": 375, "height": 800})
    try:
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        find(page)
        first = page.locator(".tag").first
        first.locator(".tag-name").click()
        expect(first.locator(".neighbor:visible")).to_have_count(3)
        first.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(first.locator(".neighbor:visible")).to_have_count(8)
        assert serious(page) == []
    finally:
        page.close()
        server.stop()


def test_the_server_goes_and_comes_back(browser, model: Path) -> None:
    server = Server(model)
    page = browser.new_page()
    try:
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        find(page)
        server.stop()
        page.fill("#text", "violin chord melody")
        page.click("text=Find labels")
        expect(page.locator("#gone")).to_contain_text("does not answer")
        server = Server(model, port=server.port)
        expect(page.locator("#gone")).to_be_hidden(timeout=30_000)
        expect(page.locator(".tag .name").first).to_have_text("music", timeout=30_000)
    finally:
        page.close()
        server.stop()


def test_a_token_is_asked_for(browser, model: Path) -> None:
    server = Server(model, env={"XTRELLIS_TOKEN": "let me in"})
    page = browser.new_page()
    try:
        page.goto(server.url)
        page.fill("#token", "wrong")
        page.click("text=Go on")
        page.wait_for_selector("dialog[open]")
        page.fill("#token", "let me in")
        page.click("text=Go on")
        page.wait_for_selector("html[data-ready]")
        assert find(page)[0] == "baking"
    finally:
        page.close()
        server.stop()
