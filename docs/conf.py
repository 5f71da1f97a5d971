"""How Sphinx makes a site of these pages, which are plain Markdown and read well without it: ``scripts/docs``."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

from recollect import __version__

project = "Recollect"
author = "The Recollect maintainers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4  # links to headings as GitHub has them
smartquotes = False  # two dashes are two dashes
pygments_dark_style = "github-dark"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = False  # signatures made of SearchOptions have no defaults in the source

html_theme = "furo"
html_title = "Recollect"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_copyright = False
html_show_sphinx = False

# autodoc would import modules as type checkers see them, with imports in circles; those that are there it leaves alone.
MODULES = re.findall(r"automodule:: (\S+)", Path(__file__).with_name("library.md").read_text(encoding="utf-8"))
for module in MODULES:
    import_module(module)


def side_bar(_: Sphinx, page: str, text: list[str]) -> None:
    """Give the index a table of contents for each of its lists, so that a page is listed once."""
    if page == "index":
        for caption, section in re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text[0], re.MULTILINE):
            pages = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", section, re.MULTILINE)
            listed = "\n".join(f"{title} <{name}>" for title, name in pages)
            text[0] += f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{listed}\n```\n"


def examples(_: Sphinx, _page: str, text: list[str]) -> None:
    """Take away the blank line at the end of an example, which only those who run it need."""
    text[0] = re.sub(r"^(```python\n(?:(?!```).*\n)*?)\n```$", r"\1```", text[0], flags=re.MULTILINE)


def constants(_: Sphinx) -> None:
    """Give public constants the words beside them in the module that made them: unlike a class, they do not know it."""
    rooms = [name for name in sys.modules if name.startswith("recollect.")]
    for module in MODULES:
        public = import_module(module)
        words = ModuleAnalyzer.for_module(module)
        words.analyze()
        for name in getattr(public, "__all__", ()):
            value = getattr(public, name)
            for room in rooms:
                if not hasattr(value, "__qualname__") and vars(sys.modules[room]).get(name) is value:
                    told = ModuleAnalyzer.for_module(room).find_attr_docs()
                    if ("", name) in told:
                        words.attr_docs["", name] = told["", name]


def signature(_: Sphinx, _what: str, _name: str, _value: object, _options: object, told: str, returned: str) -> object:
    """Write what a dataclass makes anew for each of its objects as dots, which Sphinx can read."""
    return (told.replace("<factory>", "..."), returned) if told else None


def setup(app: Sphinx) -> None:
    """Join what this file adds to Sphinx."""
    app.connect("source-read", side_bar)
    app.connect("source-read", examples)
    app.connect("builder-inited", constants)
    app.connect("autodoc-process-signature", signature)
