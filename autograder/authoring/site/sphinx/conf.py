"""Sphinx settings for the site. `python -m autograder site` copies this file to the generated sources."""

from typing import Any

project = "The Transformer, written by you"
html_title = project
copyright = ""
html_show_copyright = html_show_sphinx = html_show_sourcelink = html_copy_source = False
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
highlight_language = "text"  # blocks without a language are plain text: a list of folders has no keywords
suppress_warnings = ["myst.header"]  # a guide may skip a heading level
exclude_patterns = ["_static"]

# The notebooks have been run already. Nothing is loaded from the network: neither MathJax nor widget scripts.
nb_execution_mode = "off"
smartquotes = False  # "..." stays as it is written
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
mathjax_path = "mathjax/tex-chtml.js"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "sphinx_book_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["extra"]
html_last_updated_fmt = None
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "show_navbar_depth": 1,
    "home_page_in_toc": False,
    "navbar_persistent": [],
    "footer_content_items": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Show a docstring as `help` does: the first line as text, and the other lines with their layout unchanged."""
    if not lines:
        return
    first = lines[0].replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
    lines[:] = [
        first,
        "",
        *([".. code-block:: none", "", *(f"   {line}" for line in lines[1:]), ""] if any(lines[1:]) else []),
    ]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", as_written)
