"""The site builds without warnings, its links have targets, and it loads nothing from other servers."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import Visit, launched
from tests.test_public_surface import SURFACE

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "srcset"), ("iframe", "src")}
NOT_LOADED = {"canonical", "next", "prev", "search", "index"}
"""Relations of link elements that a browser does not fetch."""


class Page(HTMLParser):
    """What a page loads, its links, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if not set(values.get("rel", "").split()) & NOT_LOADED:
            self.loaded += [values[name] for loading, name in LOADED if tag == loading and name in values]
        if tag == "a" and "href" in values:
            self.links.append(values["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once; a warning of Sphinx is a failure."""
    target = tmp_path_factory.mktemp("site")
    doctrees = tmp_path_factory.mktemp("doctrees")
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-d", str(doctrees)]
    done = subprocess.run([*build, str(ROOT / "docs"), str(target)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_site_has_every_page(pages: dict[Path, Page]) -> None:
    assert set(PAGES) <= {path.stem for path in pages}


def test_sidebar_has_every_page(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        assert {f"{name}.html" for name in PAGES} - {page.path.name} <= set(page.links) | {"index.html"}


def test_pages_load_local_files_only(pages: dict[Path, Page]) -> None:
    for page in pages.values():
        for loaded in page.loaded:
            address = urlsplit(loaded)
            assert not address.scheme, f"{page.path.name} loads {loaded}"
            assert not address.netloc, f"{page.path.name} loads {loaded}"
            assert (page.path.parent / unquote(address.path)).is_file(), f"{page.path.name} loads {loaded}"


def test_style_sheets_load_local_files_only(site: Path) -> None:
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8").replace(" ", "")
        for far in ("url(http", 'url("http', "url('http", "url(//", 'url("//', "@import"):
            assert far not in text, f"{sheet.name} has {far}"


def test_links_and_anchors_have_targets(pages: dict[Path, Page]) -> None:
    followed = 0
    for page, link in inner_links(pages):
        address = urlsplit(link)
        target = (page.path.parent / unquote(address.path)).resolve() if address.path else page.path
        assert target.is_file(), f"{page.path.name} links to {link}"
        if address.fragment:
            assert unquote(address.fragment) in pages[target].anchors, f"{page.path.name} links to {link}"
            followed += 1
    assert followed > 1_000


def inner_links(pages: dict[Path, Page]) -> Iterator[tuple[Page, str]]:
    for page in pages.values():
        for link in page.links:
            if not urlsplit(link).scheme and link != "#":
                yield page, link


@pytest.mark.parametrize("module", SURFACE)
def test_library_page_has_every_public_name(pages: dict[Path, Page], site: Path, module: str) -> None:
    anchors = pages[site / "library.html"].anchors
    assert f"module-{module}" in anchors
    public = importlib.import_module(module)
    for name in SURFACE[module].split():
        value = getattr(public, name)
        if isinstance(value, ModuleType) or name == "__version__":
            continue  # packages have their own sections
        names = {f"{exporter}.{name}" for exporter in SURFACE if name in SURFACE[exporter].split()}
        same = {full for full in names if value is getattr(importlib.import_module(full.rpartition(".")[0]), name)}
        assert same & anchors, f"{module}.{name} is not in docs/library.md"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_pages_fit_the_screen_and_request_nothing(site: Path, width: int, scheme: str) -> None:
    with launched() as browser:
        for name in ("index", "commands", "study", "library"):
            visit = Visit(browser, site / f"{name}.html", width=width, color_scheme=scheme)
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert [url for url in visit.requested_urls if not url.startswith(site.as_uri())] == []
            assert visit.messages == []
            visit.page.close()
