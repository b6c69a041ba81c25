"""The commands `course.translate` and `course.evaluate`; bad input ends in one line and status 2."""

import gzip
import json
import re
import shutil
import subprocess
import sys

import pytest

from course import evaluate, translate
from course.checkpoint import load_checkpoint
from course.config import CONFIG, WEIGHTS
from course.errors import run_command
from course.location import ENGINE as ROOT
from course.location import checkpoints
from course.modules import MODULE_NAMES, default_folder

STUB = 'raise NotImplementedError("Stage 5: write the loop of inference")'


def run(module, *arguments, stdin=""):
    """Run `python -m course.<module>` as a user does."""
    command = [sys.executable, "-m", f"course.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, input=stdin.encode(), capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode("utf-8").splitlines(), done.stderr.decode("utf-8").splitlines()


def error_line(capsys, module, *arguments):
    """The one line on stderr with which a command in this process ends with status 2."""
    assert run_command(lambda: module.main([str(argument) for argument in arguments])) == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture
def stubs(tmp_path):
    """The reference modules without the loop of inference."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    for name in MODULE_NAMES:
        text = (default_folder() / f"{name}.py").read_text(encoding="utf-8")
        if name == "transformer":
            text += f"\n\ndef inference(self, src, src_lengths, max_output_length):\n    {STUB}\n\n"
            text += "Transformer.inference = inference\n"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_importing_the_commands_is_light():
    code = (
        "import sys, course.translate, course.evaluate, course.train; "
        "import course.translation.corpora, course.translation.alignment; "
        "heavy = {'torch', 'numpy', 'rich', 'sacrebleu', 'pooch', 'sentencepiece', 'matplotlib'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# translate


def test_sentences_are_translated(tiny_checkpoint, sentences):
    german, english = zip(*sentences[3:6], strict=True)
    assert run("translate", "--checkpoint", tiny_checkpoint, *german) == (0, list(english), [])


def test_lines_are_read_from_standard_input(tiny_checkpoint, sentences):
    german, english = zip(*sentences[3:6], strict=True)
    stdin = "\r\n".join(german)
    assert run("translate", "--checkpoint", tiny_checkpoint, stdin=stdin) == (0, list(english), [])


def test_the_checkpoint_of_the_course_translates():
    english = translate.Translator(checkpoints() / "de-en").translate("Der Hund schläft unter dem Tisch.")
    assert {"dog", "table"} <= set(re.findall(r"\w+", english.lower()))


@pytest.mark.parametrize("beam", [1, 3])
def test_many_sentences_are_translated_with_beams(tiny_checkpoint, sentences, capsys, beam):
    german, english = zip(*sentences, strict=True)
    translate.main(["--checkpoint", str(tiny_checkpoint), "--beam", str(beam), *german])
    assert capsys.readouterr().out.splitlines() == list(english)


@pytest.mark.parametrize(("option", "smallest"), [("--beam", 1), ("--length-penalty", 0)])
def test_impossible_numbers_for_the_search_are_refused(capsys, option, smallest):
    with pytest.raises(SystemExit, match="2"):
        translate.main([f"{option}={smallest - 1}", "Der Hund."])
    assert f"{option} must be at least {smallest}, not {smallest - 1}" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--beam", "2"]])
def test_max_tokens_cuts_the_translation(tiny_checkpoint, sentences, capsys, options):
    german, english = sentences[0]
    translate.main(["--checkpoint", str(tiny_checkpoint), "--max-tokens", "6", *options, german])
    (line,) = capsys.readouterr().out.splitlines()
    assert english.startswith(line)
    assert 0 < len(line) < len(english)


@pytest.mark.parametrize("sentence", ["", "  ", "\n"])
def test_an_empty_sentence_is_refused(tiny_checkpoint, capsys, sentence):
    assert "empty sentence" in error_line(capsys, translate, "--checkpoint", tiny_checkpoint, sentence)


def test_a_sentence_that_is_too_long_is_refused_with_both_numbers(tiny_checkpoint, capsys):
    sentence = "Der Hund schläft im Garten. " * 8
    tokens = len(load_checkpoint(tiny_checkpoint).source.encode(sentence))
    line = error_line(capsys, translate, "--checkpoint", tiny_checkpoint, sentence)
    assert f"has {tokens} tokens, but the model takes at most 200" in line


@pytest.mark.parametrize("number", [0, -3, 201])
def test_an_impossible_length_is_refused(tiny_checkpoint, capsys, number):
    line = error_line(capsys, translate, "--checkpoint", tiny_checkpoint, f"--max-tokens={number}", "Der Hund.")
    assert f"--max-tokens must be from 1 to 200, the model's max_seq_length, not {number}" in line


def test_a_checkpoint_that_cannot_be_used_is_refused(tiny_checkpoint, tmp_path, capsys):
    arguments = ["--checkpoint", tmp_path / "copy", "Der Hund."]
    assert "there is no checkpoint folder" in error_line(capsys, translate, *arguments)
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    weights, config = (copy / WEIGHTS).read_bytes(), json.loads((copy / CONFIG).read_text(encoding="utf-8"))
    (copy / WEIGHTS).write_bytes(weights[:2000])
    assert "are damaged" in error_line(capsys, translate, *arguments)
    (copy / WEIGHTS).write_bytes(weights)
    (copy / CONFIG).write_text(json.dumps({**config, "num_layers": 2}), encoding="utf-8")
    assert "do not fit the model" in error_line(capsys, translate, *arguments)
    (copy / CONFIG).write_text(json.dumps({**config, "num_heads": 5}), encoding="utf-8")
    assert "must be a multiple of num_heads" in error_line(capsys, translate, *arguments)


def test_modules_that_are_not_written_yet_are_named(tiny_checkpoint, stubs, capsys):
    arguments = ["--checkpoint", tiny_checkpoint, "--modules", stubs, "Der Hund."]
    line = error_line(capsys, translate, *arguments)
    assert "the modules are not finished: Stage 5: write the loop of inference" in line
    stub = "class PositionalEncoding:\n    def __init__(self, *sizes): raise NotImplementedError('Stage 2: pe')\n"
    (stubs / "pe.py").write_text(stub, encoding="utf-8")
    assert "the modules are not finished: Stage 2: pe" in error_line(capsys, translate, *arguments)


def test_bad_input_ends_without_a_traceback():
    code, lines, errors = run("translate", "--checkpoint", "nowhere", "Der Hund.")
    assert (code, lines, errors) == (2, [], ["error: there is no checkpoint folder nowhere"])


@pytest.mark.parametrize("options", [[], pytest.param(["--beam", "2"], marks=pytest.mark.slow)])
def test_a_bad_line_ends_what_went_well_before(tiny_checkpoint, sentences, options):
    german, english = sentences[0]
    arguments = ["--checkpoint", tiny_checkpoint, *options, "-"]
    long = "Der Hund schläft im Garten. " * 8
    code, lines, (error,) = run("translate", *arguments, stdin=f"{german}\n{long}\n{german}\n")
    assert (code, lines) == (2, [english])
    assert error.startswith("error: the sentence that starts with 'Der Hund schläft im Garten.")


@pytest.mark.parametrize("options", [[], ["--beam", "2"]])
def test_an_empty_line_stays_one(tiny_checkpoint, sentences, options):
    (first, one), (second, two) = sentences[:2]
    stdin = f"\n{first}\n\n  \n{second}\n"
    arguments = ["--checkpoint", tiny_checkpoint, *options, "-"]
    assert run("translate", *arguments, stdin=stdin) == (0, ["", one, "", "", two], [])


@pytest.mark.parametrize(
    ("module", "old", "new", "said"),
    [
        ("mha", "import math", "import math\ndef f(:", r"mha\.py, line \d+: invalid syntax: def f\(:"),
        ("pe", "import math", "import maths", r"pe\.py cannot be imported: pe\.py, line \d+, import maths: "),
        ("mha", "return self.W_o(x)", "return self.W_o(x) @ x", r"your code raised an exception: mha\.py, line \d+, "),
        (
            "mha",
            "return self.W_o(x)",
            "self.W_o(x)",
            r"raised an exception: encoder\.py, line \d+, .*NoneType.* returns nothing: is there a `return`\?",
        ),
        (
            "transformer",
            "return decoded_list, decoder_layer_cache_list",
            "pass",
            r"it returns nothing: is there a `return`\?",
        ),
    ],
    ids=["syntax", "import", "shapes", "no return", "inference without return"],
)
def test_what_is_wrong_in_the_modules_is_one_line(tiny_checkpoint, tmp_path, capsys, module, old, new, said):
    folder = shutil.copytree(default_folder(), tmp_path / "own")
    text = (folder / f"{module}.py").read_text(encoding="utf-8")
    assert old in text
    (folder / f"{module}.py").write_text(text.replace(old, new), encoding="utf-8")
    line = error_line(capsys, translate, "--checkpoint", tiny_checkpoint, "--modules", folder, "Der Hund.")
    assert re.search(said, line), line


# evaluate


def test_the_scores_are_those_of_sacrebleu(tiny_checkpoint, corpus_dir, tmp_path, sentences, capsys):
    changed = [(german, english.replace("sleeps", "is asleep").replace("dog", "Dog")) for german, english in sentences]
    text = "".join(f"{german}\t{english}\n" for german, english in changed)
    folder = tmp_path / "corpora"
    shutil.copytree(corpus_dir, folder)
    (folder / "changed.tsv.gz").write_bytes(gzip.compress(text.encode()))
    report = tmp_path / "scores.json"
    arguments = f"--threads 1 --corpus own changed --by-length --json {report} --corpus-dir {folder}".split()
    assert evaluate.main(["--checkpoint", str(tiny_checkpoint), *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""

    import sacrebleu

    report = json.loads(report.read_text(encoding="utf-8"))
    scores = report["scores"]
    ways = [(name, 64, beam) for name in ("own", "changed") for beam in (1, 4)]
    assert [(score["corpus"], score["pairs"], score["beam"]) for score in scores] == ways
    hypotheses, references = [english for _, english in sentences], [[english for _, english in changed]]
    output = printed.out
    for score in scores:
        # The model knows the sentences by heart, with one beam and with four.
        expected: tuple[float, ...] = (100, 100, 100)
        if score["corpus"] == "changed":
            lower = sacrebleu.corpus_bleu(hypotheses, references, lowercase=True)
            cased, chrf = sacrebleu.corpus_bleu(hypotheses, references), sacrebleu.corpus_chrf(hypotheses, references)
            expected = (cased.score, chrf.score, lower.score)
            assert cased.score < lower.score < 100
        assert (score["bleu"], score["chrf"], score["bleu_lowercase"]) == pytest.approx(expected)
        search = "greedy" if score["beam"] == 1 else "beam 4"
        assert re.search(rf"{score['corpus']}\W+{search}\W+64\W+{score['bleu']:.2f}\W+{score['chrf']:.2f}", output)
    assert scores[2]["by_length"] == {"1 to 5": [64, pytest.approx(scores[2]["bleu"])]}
    assert re.search(rf"changed\W+greedy\W+1 to 5\W+64\W+{scores[2]['bleu']:.2f}", output)
    aligned = report["alignment"]
    assert f"agrees with {max(map(max, aligned['agreeing']))} of {aligned['pairs']} pairs" in output
    assert f"BLEU  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}" in output


def test_bleu_is_measured_by_length(tiny_checkpoint, sentences, monkeypatch):
    """Sentences with "dort" have four words, all others five; here only these are translated as the corpus has them."""
    monkeypatch.setattr(evaluate, "LENGTHS", (4,))
    other = [(german, english.replace("there", "right over here")) for german, english in sentences]
    score = evaluate.evaluate(load_checkpoint(tiny_checkpoint), "other", other)
    assert list(score.by_length) == ["1 to 4", "over 4"]
    (short, low), (long, high) = score.by_length.values()
    assert (short, long) == (16, 48)
    assert high == pytest.approx(100)
    assert low < score.bleu < high


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"there is no corpus file .*bad\.tsv\.gz"),
        ("", "the corpus bad is empty"),
        ("Hallo\n", "line 1 of .* has 1 columns instead of 2"),
        ("Der Hund.\tThe dog.\n" + "Garten " * 200 + "\tgarden\n", r"line 2 of bad has \d+ tokens, .* only 200"),
    ],
    ids=["missing", "empty", "one column", "too long"],
)
def test_a_corpus_that_cannot_be_used_is_refused(tiny_checkpoint, tmp_path, capsys, text, message):
    if text is not None:
        (tmp_path / "bad.tsv.gz").write_bytes(gzip.compress(text.encode()))
    arguments = ["--checkpoint", tiny_checkpoint, "--corpus-dir", tmp_path, "--corpus", "bad", "--threads", 1]
    assert re.search(message, error_line(capsys, evaluate, *arguments))


def test_modules_that_are_not_written_yet_cannot_be_evaluated(tiny_checkpoint, corpus_dir, stubs, capsys):
    text = (stubs / "transformer.py").read_text(encoding="utf-8").replace(".inference = ", ".forward_encoder = ")
    (stubs / "transformer.py").write_text(text.replace("src_lengths, max_output_length", "lengths"), encoding="utf-8")
    arguments = f"--checkpoint {tiny_checkpoint} --modules {stubs} --corpus own --corpus-dir {corpus_dir} --threads 1"
    assert "the modules are not finished: Stage 5" in error_line(capsys, evaluate, *arguments.split())


@pytest.mark.parametrize("option", ["--threads", "--beam"])
def test_the_numbers_of_threads_and_beams_must_be_positive(capsys, option):
    with pytest.raises(SystemExit, match="2"):
        evaluate.main([option, "0"])
    assert f"{option} must be at least 1, not 0" in capsys.readouterr().err


def test_evaluation_is_a_command_too():
    code, lines, errors = run("evaluate", "--beam", "0")
    assert (code, lines) == (2, [])
    assert "--beam must be at least 1, not 0" in errors[-1]


def test_an_interrupt_ends_quietly(capsys):
    def interrupted():
        raise KeyboardInterrupt

    assert run_command(interrupted) == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no head")
def test_output_that_nobody_reads_to_its_end_is_no_fault():
    """As in `... | head`."""
    code = "from course.errors import run_command\nrun_command(lambda: [print('x' * 9999) for _ in range(999)] and 0)"
    command = f'"{sys.executable}" -c "{code}" | head -c 5'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.stdout, done.stderr) == ("xxxxx", "")


def test_an_unknown_fault_has_a_status_of_its_own(capsys):
    def faulty():
        raise ZeroDivisionError

    assert run_command(faulty) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err
