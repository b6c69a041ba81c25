"""Attacks on the wire: frames that are damaged, too large, too deep, too slow, or that nobody asked for."""

from tests.attacks.attack import (
    ENDED,
    LATE,
    NO_MODULE,
    SHAPE,
    TYPE,
    UNREADABLE,
    WRONG,
    Attack,
    Verdict,
    answering,
    pe,
    raised,
)


def answer(data: str) -> str:
    """A pe.py that answers the question for its table with bytes of its own."""
    return answering(f"def answer():\n    send({data})\n    time.sleep(60)\n")


def tensors(header: str, data: str = "b''", value: str = '{"value": {"$tensor": "0"}}') -> str:
    """The same with a safetensors body; `header` and `data` are Python expressions."""
    body = f"(lambda h, d: struct.pack('<Q', len(h)) + h + d)(({header}), ({data}))"
    return answer(f"frame({value.encode()!r}, {body})")


def described(dtype: str, shape: str, size: str) -> str:
    """The header of a safetensors body with one tensor."""
    entry = f'\'{{"0":{{"dtype":"{dtype}","shape":%s,"data_offsets":[0,%s]}}}}\''
    return f"({entry} % ({shape!r}, {size!r})).encode()"


FRAMES = {
    (17, "another magic number"): (UNREADABLE, answer("b'PASS' + bytes(12)")),
    (17, "an error that says passed"): (raised("passed"), answer('frame(b\'{"error": {"kind": "passed"}}\')')),
    (17, "an error without a name"): (raised(""), answer("frame(b'{\"error\": {}}')")),
    (17, "an error that is a list"): (raised(""), answer("frame(b'{\"error\": [1, [2], {}]}')")),
    (17, "an error from nowhere"): (
        raised("x"),
        answer('frame(b\'{"error": {"kind": "x", "where": [[1, 2, 3, 4], [[], {}, null, 1e999], 7, "pe.py"]}}\')'),
    ),
    (17, "a handle of nothing"): (TYPE, answer('frame(b\'{"value": {"$handle": 12345}}\')')),
    (17, "a handle that is no number"): (UNREADABLE, answer('frame(b\'{"value": {"$handle": [0]}}\')')),
    (17, "neither value nor error"): (Verdict("failed", "is None instead of a tensor"), answer("frame(b'{}')")),
    (17, "a type that is an object"): (
        Verdict("failed", "is None instead of a tensor"),
        answer('frame(b\'{"type": {"a": 1}}\')'),
    ),
    (26, "a body that is no safetensors"): (UNREADABLE, answer('frame(b\'{"value": {"$tensor": "0"}}\', b"x" * 99)')),
    (26, "a body that is not there"): (UNREADABLE, answer('frame(b\'{"value": {"$tensor": "0"}}\')')),
    (26, "a length that lies"): (
        UNREADABLE,
        answer("frame(b'{\"value\": {\"$tensor\": \"0\"}}', struct.pack('<Q', 2**63) + b'{}')"),
    ),
    (26, "a tensor that is not there"): (UNREADABLE, tensors("b'{}'")),
    (26, "offsets beyond the end"): (UNREADABLE, tensors(described("F64", "[1000]", "8000"), "bytes(8)")),
    (26, "a shape that does not fit"): (UNREADABLE, tensors(described("F64", "[1, 15, 32]", "8"), "bytes(8)")),
    (26, "a shape that overflows"): (UNREADABLE, tensors(described("F64", f"[{2**62}, 8]", "8"), "bytes(8)")),
    (26, "a negative shape"): (UNREADABLE, tensors(described("F64", "[-1, -1]", "8"), "bytes(8)")),
    (26, "a type that nobody knows"): (UNREADABLE, tensors(described("PASSED", "[1]", "8"), "bytes(8)")),
    (26, "70 axes"): (UNREADABLE, tensors(described("F64", str([1] * 70), "8"), "bytes(8)")),
    (26, "10,000 axes"): (UNREADABLE, tensors(described("F64", str([1] * 10_000), "8"), "bytes(8)")),
    (26, "no element of a huge shape"): (UNREADABLE, tensors(described("F64", f"[0, {2**40}, {2**40}]", "0"))),
    (26, "overlapping tensors"): (
        UNREADABLE,
        tensors(
            """b'{"0":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"1":{"dtype":"F64","shape":[1],"""
            """"data_offsets":[0,8]}}'""",
            "bytes(8)",
        ),
    ),
    (26, "the same name twice"): (
        (UNREADABLE, SHAPE),
        tensors(
            """b'{"0":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"0":{"dtype":"F64","shape":[1],"""
            """"data_offsets":[8,16]}}'""",
            "bytes(16)",
        ),
    ),
    (26, "booleans that are neither"): (Verdict("failed", ""), tensors(described("BOOL", "[8]", "8"), "b'\\x02' * 8")),
    (27, "a header of 4 GB"): (UNREADABLE, answer("frame(b'{}', b'', header_length=2**32 - 1)")),
    (27, "a body of 2**63 bytes"): (UNREADABLE, answer("frame(b'{}', b'', body_length=2**63)")),
    (27, "a body of 2**64 - 1 bytes"): (UNREADABLE, answer("frame(b'{}', b'', body_length=2**64 - 1)")),
    (27, "a true frame of 100 MB"): (UNREADABLE, answer("frame(b'{}', bytes(100_000_000))")),
    (28, "JSON of 100,000 lists"): (
        UNREADABLE,
        answer("frame(b'{\"value\": ' + b'[' * 100_000 + b']' * 100_000 + b'}')"),
    ),
    (28, "JSON of 500 lists"): (UNREADABLE, answer("frame(b'{\"value\": ' + b'[' * 500 + b']' * 500 + b'}')")),
    (28, "JSON of 100,000 objects"): (UNREADABLE, answer("frame(b'{\"value\": ' + b'{\"a\":' * 50_000)")),
    (28, "an integer of 250,000 digits"): (UNREADABLE, answer("frame(b'{\"value\": ' + b'9' * 250_000 + b'}')")),
    (28, "an integer of 4,000 digits"): (TYPE, answer("frame(b'{\"value\": ' + b'9' * 4000 + b'}')")),
    (28, "a handle of 4,000 digits"): (TYPE, answer("frame(b'{\"value\": {\"$handle\": ' + b'9' * 4000 + b'}}')")),
    (28, "a line of 4,000 digits"): (
        raised("x"),
        answer('frame(b\'{"error": {"kind": "x", "where": [["pe.py", \' + b\'9\' * 4000 + b\', "", ""]]}}\')'),
    ),
    (28, "100,000 values"): (TYPE, answer("frame(b'{\"value\": [' + b'0,' * 100_000 + b'0]}')")),
    (28, "an infinite number"): (TYPE, answer("frame(b'{\"value\": 1e999}')")),
    (28, "not a number"): (TYPE, answer("frame(b'{\"value\": NaN}')")),
    (28, "not UTF-8"): (UNREADABLE, answer("frame(b'\\xff\\xfe\\x00')")),
    (28, "JSON that is no object"): (UNREADABLE, answer("frame(b'[[]]')")),
    (28, "half a surrogate"): (raised(""), answer('frame(b\'{"error": {"kind": "\\\\ud800\\\\u0000"}}\')')),
    (28, "half a surrogate as a type"): (
        Verdict("failed", ""),
        answer('frame(b\'{"value": null, "type": "\\\\ud800\\\\u0000"}\')'),
    ),
}
ATTACKS = [
    # The next part of the test waits for one that answers no more.
    Attack(number, name, text, verdict if isinstance(verdict, tuple) else (verdict,), tries=False, seconds=3.0)
    for (number, name), (verdict, text) in FRAMES.items()
]

DRIP = """
def drip():
    data = frame(b'{"value": null}' + b" " * 1000)
    while True:
        for byte in data:
            send(bytes([byte]))
            time.sleep(0.1)
"""
FLOOD = """
def flood():
    while True:
        send(frame(b'{"value": {"$handle": 0}}'))
"""
ATTACKS += [
    Attack(29, "slow drip", pe(DRIP, "drip()"), LATE, tries=False, seconds=1.0),
    Attack(
        29,
        "slow drip of a long body",
        pe("", "send(struct.pack('>4sIQ', b'GRD1', 2, 2**20) + b'{}')\nwhile True: send(b' '); time.sleep(0.1)"),
        LATE,
        tries=False,
        seconds=1.0,
    ),
    Attack(29, "half a frame, then the end", pe("", "send(b'GRD1' + bytes(7)); os._exit(0)"), ENDED, tries=False),
    Attack(
        29, "half a body, then silence", answer("frame(b'{}', b'', body_length=100)"), LATE, tries=False, seconds=1.0
    ),
    Attack(
        30,
        "an answer before the question",
        pe("", """send(frame(b'{"value": {"$handle": 0}}') + frame(b'{"value": {"$handle": 0}}') * 9)"""),
        TYPE,
        tries=False,
    ),
    Attack(
        30,
        "more answers than questions",
        pe(
            "",
            """
            def later():
                time.sleep(0.05)
                for _ in range(100):
                    send(frame(b'{"value": true}'))
            threading.Thread(target=later, daemon=True).start()
            """,
        ),
        (TYPE, WRONG, UNREADABLE, NO_MODULE, raised("RuntimeError")),
        tries=False,
    ),
    Attack(
        30, "a flood of answers", pe(FLOOD, "flood()"), (NO_MODULE, TYPE, UNREADABLE, LATE), tries=False, seconds=3.0
    ),
    Attack(
        30,
        "the connection is closed",
        pe("", "channel().close()"),
        ENDED,
        tries=False,
    ),
    Attack(
        30,
        "the connection is kept shut, and the process lives",
        pe("", "socket.socket(fileno=channel().fileno()).shutdown(socket.SHUT_RDWR); time.sleep(60)"),
        (ENDED, LATE, raised("PermissionError")),
        tries=False,
        seconds=2.0,
    ),
]
