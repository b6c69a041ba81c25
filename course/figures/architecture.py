"""The drawing in docs/architecture.md: the packages of the autograder, each above the packages that it uses."""

from course.figures.drawing import Drawing

# (name, contents, x, width), from the top floor to the ground floor.
FLOORS = [
    [
        ("authoring", "release, stored tensors, archives,\nnew and audited assignments", 190, 400),
        ("classroom", "batch, jobs, Dask cluster,\nclass records, exports", 610, 390),
    ],
    [("gradebooks", "Canvas, Moodle, nbgrader; hand-in times, late policy", 190, 810)],
    [("reports", "console, notebook, feedback page, class report, results.json, --watch", 190, 810)],
    [
        ("grading", "runs the tests of each stage,\nhidden ones beside the reference", 190, 400),
        ("localization", "names the faulty line, from\ncall traces and re-runs", 610, 390),
    ],
    [
        ("submissions", "read by name, never extracted;\ncombined with stand-ins", 190, 400),
        ("diagnosis", "where a tensor is wrong, and how;\nsignatures of known mistakes", 610, 390),
    ],
    [
        ("sandbox", "worker processes, the wire to\nthem, limits, confinement", 190, 400),
        ("worker", "beside student code: loads it,\nforbids parts, answers, traces", 610, 390),
    ],
    [
        ("manifest.py", "assignments, stages, points", 190, 400),
        ("forbidden", "search for ready-made parts", 610, 390),
    ],
]
KINDS = ["linear", "linear", "norm", "attention", "network", "token", "kept"]
FLOOR, HEIGHT = 74, 58


def architecture() -> Drawing:
    d = Drawing(
        1020,
        550,
        "The rooms of the autograder",
        "Seven floors. On the top floor authoring and classroom; below them gradebooks, then reports, then grading "
        "with fault localization, then submissions and diagnosis, then the sandbox and its workers, and on the "
        "ground the manifest and the search for forbidden parts. Each room uses only rooms below it. At the side "
        "are the assignments, one folder each, with tests, stand-ins, mistakes and stored tensors, which grading "
        "finds through the manifest and never by name.",
    )
    for number, (floor, kind) in enumerate(zip(FLOORS, KINDS, strict=True)):
        y = 30 + FLOOR * number
        for name, words, x, width in floor:
            d.box(x, y, width, HEIGHT, "", kind)
            d.text(x + 14, y + HEIGHT / 2, name, "strong", "start")
            d.text(x + 135, y + HEIGHT / 2, words, "small", "start")
    top, bottom = 30 + 3 * FLOOR, 30 + 6 * FLOOR + HEIGHT
    d.frame(20, top - 8, 150, bottom - top + 8, "assignments/")
    for number, words in enumerate(("assignment.toml", "visible/  hidden/", "standins/", "mistakes/", "expected/")):
        d.text(35, top + 48 + 30 * number, words, "small", "start")
    d.arrow((170, top + 31), (190, top + 31))
    d.text(35, top + 240, "found through the\nmanifest, never\nby name", "small", "start")
    d.text(95, 60, "a room uses\nonly rooms\nbelow it", "small")
    d.arrow((95, 100), (95, 160))
    return d
