"""A drawing of boxes and arrows as an SVG string, identical on every machine and legible on light and dark pages."""

import re
from xml.sax.saxutils import escape

# One style for all drawings. A drawing has its own background, since the page and the system may have different themes.
STYLE = """
.ground { fill: #ffffff; }
text { font: 15px system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; fill: #1b1f24; }
.small { font-size: 13px; fill: #4a545e; }
.strong { font-weight: 600; }
.box { stroke: #4a545e; stroke-width: 1.2; fill: #f1f4f7; }
.line { fill: none; stroke: #4a545e; stroke-width: 1.5; }
.thin { stroke-width: 1; stroke: #8b96a1; }
.head { fill: #4a545e; }
.frame { fill: none; stroke: #8b96a1; stroke-width: 1.2; stroke-dasharray: 6 4; }
.attention { fill: #ffe3c2; }
.network { fill: #d3e6fb; }
.norm { fill: #fdf3b8; }
.linear { fill: #e4dcf6; }
.token { fill: #d9f0d6; }
.kept { fill: #e4e7ea; stroke-dasharray: 3 3; }
.new { fill: #b9e2b3; stroke-width: 2.2; }
.weight { fill: #1f4a75; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #15181c; }
  text { fill: #e3e7eb; }
  .small { fill: #b4bec8; }
  .box { stroke: #a4afba; fill: #2a3037; }
  .line { stroke: #a4afba; }
  .thin { stroke: #6b7681; }
  .head { fill: #a4afba; }
  .frame { stroke: #6b7681; }
  .attention { fill: #6a4318; }
  .network { fill: #1f4a75; }
  .norm { fill: #5c5312; }
  .linear { fill: #473a73; }
  .token { fill: #25502a; }
  .kept { fill: #32383e; }
  .new { fill: #2f6e36; }
  .weight { fill: #9cc8f5; }
}
""".strip()
ROLE = 'role="img" aria-labelledby="title desc"'
LINE = 19  # line height of text
INDEX = 11  # the font size of an index. In pixels: some programs scale relative sizes wrongly.


class Drawing:
    """A drawing under construction. Coordinates are in the drawing's own units, with x pointing right and y down."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height, self.title, self.description = width, height, title, description
        self._parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, text: str = "", kind: str = "") -> None:
        """Draw a box with centred text; `x` and `y` are its upper left corner."""
        self._add(f'<rect class="box {kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>')
        self.text(x + width / 2, y + height / 2, text)

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> None:
        """Draw lines of text, centred vertically at `y`. `_k` (or `_{...}`) is a subscript, and `^T` a superscript."""
        lines = text.split("\n") if text else []
        for number, line in enumerate(lines):
            height = y + (number - (len(lines) - 1) / 2) * LINE + 5
            name = f' class="{kind}"' if kind else ""
            self._add(f'<text{name} x="{x:g}" y="{height:g}" text-anchor="{anchor}">{_formula(line)}</text>')

    def arrow(self, *points: tuple[float, float], kind: str = "", head: bool = True) -> None:
        """Draw a line through some points, with an arrowhead at the last one."""
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        self._add(f'<path class="line {kind}" d="{path}"/>')
        if head:
            (x0, y0), (x1, y1) = points[-2:]
            length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
            dx, dy = 8 * (x1 - x0) / length, 8 * (y1 - y0) / length
            corners = [(x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)]
            self._add('<path class="head" d="M' + " L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + ' Z"/>')

    def frame(self, x: float, y: float, width: float, height: float, text: str) -> None:
        """Draw a dashed frame around several boxes, with a name at its upper left corner."""
        self._add(f'<rect class="frame" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>')
        self.text(x + 10, y + 15, text, "small", "start")

    def plus(self, x: float, y: float) -> None:
        """Draw a circle with a plus sign, for an addition."""
        self._add(f'<circle class="box" cx="{x:g}" cy="{y:g}" r="11"/>')
        self._add(f'<path class="line" d="M{x - 6:g} {y:g} h12 M{x:g} {y - 6:g} v12"/>')

    def cell(self, x: float, y: float, width: float, height: float, weight: float) -> None:
        """Draw a cell of a heatmap: the larger its weight (from 0 to 1), the darker the cell."""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self._add(f'<rect class="weight" {place} fill-opacity="{weight:.2f}"/>')
        self._add(f'<path class="line thin" d="M{x:g} {y:g} h{width:g} v{height:g} h{-width:g} Z"/>')

    def _add(self, part: str) -> None:
        self._parts.append(part)

    def svg(self) -> str:
        """The drawing as an SVG file."""
        size, bounds = f"{self.width} {self.height}", f'width="{self.width}" height="{self.height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {bounds} {ROLE}>',
                f'<title id="title">{escape(self.title)}</title>',
                f'<desc id="desc">{escape(self.description)}</desc>',
                f"<style>\n{STYLE}\n</style>",
                f'<rect class="ground" width="{self.width}" height="{self.height}" rx="8"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def _formula(line: str) -> str:
    """Convert text with subscripts and superscripts to SVG: "d_k", "W_{out}", "K^T"."""
    parts = []
    height = 0  # current offset below the line
    for sign, index, short, plain in re.findall(r"([_^])(?:\{([^}]*)\}|(\w))|([^_^]+|[_^])", line):
        wanted = {"_": 4, "^": -6}.get(sign, 0)
        move = f' dy="{wanted - height}"' if wanted != height else ""
        if sign:
            parts.append(f'<tspan{move} font-size="{INDEX}">{escape(index or short)}</tspan>')
        else:
            parts.append(f"<tspan{move}>{escape(plain)}</tspan>" if move else escape(plain))
        height = wanted
    return "".join(parts)
