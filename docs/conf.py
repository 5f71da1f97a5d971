"""The configuration of the documentation site, which ``scripts/docs`` builds from these Markdown pages."""

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

# autodoc would import modules with TYPE_CHECKING set, which makes import cycles; it skips modules that are loaded.
MODULES = re.findall(r"automodule:: (\S+)", Path(__file__).with_name("library.md").read_text(encoding="utf-8"))
for module in MODULES:
    import_module(module)


def side_bar(_: Sphinx, page: str, text: list[str]) -> None:
    """Add a table of contents for each list of the index, so that every page is listed once."""
    if page == "index":
        for caption, section in re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text[0], re.MULTILINE):
            pages = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", section, re.MULTILINE)
            listed = "\n".join(f"{title} <{name}>" for title, name in pages)
            text[0] += f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{listed}\n```\n"


def examples(_: Sphinx, _page: str, text: list[str]) -> None:
    """Remove the blank line at the end of an example, which only the tests need."""
    text[0] = re.sub(r"^(```python\n(?:(?!```).*\n)*?)\n```$", r"\1```", text[0], flags=re.MULTILINE)


def constants(_: Sphinx) -> None:
    """Copy the docstrings of public constants from the modules that define them; autodoc looks only in the package."""
    names = [name for name in sys.modules if name.startswith("recollect.")]
    for module in MODULES:
        public = import_module(module)
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
        for constant in getattr(public, "__all__", ()):
            value = getattr(public, constant)
            for name in names:
                if not hasattr(value, "__qualname__") and vars(sys.modules[name]).get(constant) is value:
                    docs = ModuleAnalyzer.for_module(name).find_attr_docs()
                    if ("", constant) in docs:
                        analyzer.attr_docs["", constant] = docs["", constant]


def signature(_: Sphinx, _what: str, _name: str, _value: object, _options: object, text: str, returned: str) -> object:
    """Replace the default factories of dataclass fields by dots, which Sphinx can parse."""
    return (text.replace("<factory>", "..."), returned) if text else None


def setup(app: Sphinx) -> None:
    """Register the handlers above."""
    app.connect("source-read", side_bar)
    app.connect("source-read", examples)
    app.connect("builder-inited", constants)
    app.connect("autodoc-process-signature", signature)
