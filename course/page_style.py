"""One style for everything that the course shows in a notebook: text is at least 11 pixels high at any width.

Anything that is still too wide scrolls in a box of its own. Figures with several panels have a second form
for narrow pages, in which the panels are stacked.
"""

SMALLEST = 11  # pixels: the smallest text, as shown
NARROW = 640  # pixels: on narrower pages, verdicts and some figures take their narrow form
STRIP = 336  # pixels: the width of panels in one row on a narrow page; next to an open file browser there is no more
TALL = 1400  # pixels: if stacked panels would be taller, the figure scrolls sideways instead
# How JupyterLab, pages from nbconvert, Sphinx themes, VS Code and Colab mark dark themes.
DARK = ('[data-jp-theme-light="false"]', '[data-theme="dark"]', "body.vscode-dark", 'html[theme="dark"]')
# The same applies to drawings in text cells: SVG files, about 1,000 pixels wide, with text 13 pixels high.
DRAWING = 850
STYLE = f"""<style>
{", ".join(f"{page} .tc-light" for page in DARK)} {{ display: none }}
{", ".join(f"{page} .tc-dark" for page in DARK)} {{ display: inline !important }}
.tc-both {{ container-type: inline-size }}
.jp-MarkdownOutput, .jp-MarkdownOutput p:has(> img) {{ overflow-x: auto }}
.jp-MarkdownOutput img[src*=".svg"] {{ max-width: max(100%, {DRAWING}px) !important }}
</style>"""
BOX = "overflow-x:auto;max-width:100%"  # of a box that scrolls; inline, since some pages allow no style sheets


def boxed(html: str, name: str = "", style: str = "") -> str:
    """Put wide content into a scrolling box, so that the page itself need not scroll."""
    return f'<div class="tc-box {name}" style="{BOX}{style}">{html}</div>'


def two_forms(wide: str, narrow: str, least: int) -> str:
    """Both forms of a figure; the page shows the one that fits, or the wide form if style sheets are not allowed.

    Args:
        least: the width in pixels that the wide form needs.
    """
    inner = f".tc-{least} >"
    rule = f"{inner} .tc-wide {{ display: none }} {inner} .tc-narrow {{ display: block !important }}"
    style = f"<style>@container (max-width: {least - 1}px) {{ {rule} }}</style>"
    both = boxed(wide, "tc-wide") + boxed(narrow, "tc-narrow", ";display:none")
    return f'{style}<div class="tc-both"><div class="tc-{least}">{both}</div></div>'
