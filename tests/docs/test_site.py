"""The site as it is built: strictly, with every link leading somewhere, and nothing asked of another host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.conftest import ROOT

pytest.importorskip("mkdocs")


class Page(HTMLParser):
    """The addresses that a page loads, those it links to, and the places within it that have a name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and given.get("href"):
            self.linked.append(str(given["href"]))
        elif tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.loaded.append(str(given["href"]))
        elif given.get("src"):
            self.loaded.append(str(given["src"]))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def pages(site: Path) -> Iterator[tuple[Path, Page]]:
    found = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(found) > 20
    for path in found:
        yield path, Page(path)


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    for path, page in pages(site):
        outside = [address for address in page.loaded if urlsplit(address).netloc]
        assert not outside, f"{path.name}: {outside}"
        assert "url(http" not in path.read_text(encoding="utf-8")
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", style.read_text(encoding="utf-8")), style


def test_every_link_leads_somewhere(site: Path) -> None:
    known = {path.resolve(): page.names for path, page in pages(site)}
    checked = 0
    for path, page in pages(site):
        for address in [*page.linked, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {address}"
            if parts.fragment and target in known:
                assert unquote(parts.fragment) in known[target], f"{path.name}: {address}"
            checked += 1
    assert checked > 500


def test_formulas_are_drawn_by_the_browser_alone(site: Path) -> None:
    page = (site / "theory" / "mathematics.html").read_text(encoding="utf-8")
    assert page.count("<math") > 20
    assert "arithmatex" not in page
    assert "merror" not in page


def test_pages_open_from_the_disk(site: Path) -> None:
    page = (site / "howto" / "own-data.html").read_text(encoding="utf-8")
    assert 'src="../assets/worker.js"' in page
    assert (site / "search" / "search_index.js").is_file()  # the index as a script: a page from the disk may load that


def test_the_page_of_commands_has_every_option(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for word in ("sgbt train", "sgbt data get", "--max-substitutions", "--drop-shared", "--test-file"):
        assert word in page, word


def test_the_page_on_extensions_is_the_one_that_tests_run(site: Path) -> None:
    page = (site / "howto" / "extending.html").read_text(encoding="utf-8")
    for word in ("MeanOfWords", "Enumerated", "RandomSwaps", "Smoothed", "ModelContract"):
        assert word in page, word


@pytest.mark.soak
def test_pages_and_search_work_from_the_disk_in_a_browser(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    with sync_api.sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1280, "height": 900})
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda problem: wrong.append(str(problem)))
        page.goto((site / "index.html").as_uri())
        page.fill("input.md-search__input", "certificate")
        page.wait_for_selector(".md-search-result__item", timeout=60_000)
        page.goto((site / "theory" / "mathematics.html").as_uri())
        assert page.evaluate("document.querySelector('.formula math').getBoundingClientRect().height") > 10
        window.close()
    assert not wrong
    assert [address for address in asked if not address.startswith("file:")] == []


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_files_outside_the_site_lead_somewhere(path: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / path).read_text(encoding="utf-8")):
        assert urlsplit(target).scheme or (ROOT / target).exists(), f"{path}: {target}"
