"""Attacks on whoever reads a report: escape sequences of terminals and HTML in all texts that come from a student."""

from tests.attacks.attack import NOT_STARTED, TYPE, WRONG, Attack, answering, pe, raised

HTML = "<script>alert(51)</script><img src=x onerror=alert(51)>"
ANSI = "\\x1b[2J\\x1b[H\\x1b]0;110 of 110\\x07\\x9b2J\\r\\b\\0"
TEXT = f"{ANSI}{HTML}]]>{{{{7*7}}}}{{% raw %}}\\u202e\\ud800' \\\" & [bold red]"

TEXTS = {
    "message": (raised("ValueError"), pe(f"raise ValueError('''{TEXT}''')")),
    "kind": (
        raised(""),
        pe(f"raise type('''{TEXT}'''.replace(chr(0), '').replace(chr(0xd800), ''), (Exception,), {{}})"),
    ),
    "line": (
        raised("KeyError"),
        pe(f"exec(compile('''raise KeyError(1)  # {HTML}''', '''pe.py''', 'exec'))"),
    ),
    "line of a syntax error": (raised("SyntaxError"), f"x = = '{HTML}'\n"),
    "sys.exit": (raised("sys.exit("), pe(f"sys.exit('''{TEXT}''')")),
    "print": (
        WRONG,
        pe(f"print('''{TEXT}'''.encode(errors='replace').decode()); os.write(1, b'''\\x1b[2J\\xff{HTML}''')"),
    ),
    "type": (
        TYPE,
        answering(f"def answer(): return type('''{HTML}''', (), {{}})()"),
    ),
    "stub": (NOT_STARTED, pe(f"raise NotImplementedError('''{TEXT}''')")),
    "number of lines": (raised("ValueError"), pe("raise ValueError('\\n' * 3000 + 'x')")),
}
ATTACKS = [
    Attack(51, f"ANSI and HTML: {place}", text, verdict, tries=False) for place, (verdict, text) in TEXTS.items()
]
