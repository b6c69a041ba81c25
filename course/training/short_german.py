"""Short German sentences with their translations, from a small grammar: data for a translator that learns in minutes.

In this grammar the two languages differ in gender and case (der Hund, den Hund) and in the endings of verbs and
adjectives. The verb may come last (hat ... gesehen) or before the subject (Gestern hat ...), and English questions use
"do". All sentences are generated here; there is no corpus. Test sentences combine a verb with an object that it never
takes in training.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from course.config import BOS, EOS, PAD, UNK

SPECIAL = {UNK: "<unk>", PAD: "<pad>", BOS: "<s>", EOS: "</s>"}
# German, gender, English: people and animals, which can be subjects, then things
BEINGS = """mann m man|hund m dog|vogel m bird|lehrer m teacher|onkel m uncle|frau f woman|katze f cat
maus f mouse|tante f aunt|kuh f cow|kind n child|mädchen n girl|pferd n horse|huhn n chicken"""
THINGS = """apfel m apple|brief m letter|ball m ball|schlüssel m key|blume f flower|lampe f lamp|tasche f bag
suppe f soup|buch n book|brot n bread|bild n picture|fahrrad n bicycle"""
ADJECTIVES = "klein small|groß big|alt old|neu new|rot red|grün green|schön beautiful|müd tired"
# infinitive, forms for ich, du, er; participle; English base, third person, past
OBJECT_VERBS = """sehen sehe siehst sieht gesehen see sees saw|finden finde findest findet gefunden find finds found
kaufen kaufe kaufst kauft gekauft buy buys bought|tragen trage trägst trägt getragen carry carries carried
malen male malst malt gemalt paint paints painted|holen hole holst holt geholt fetch fetches fetched
verlieren verliere verlierst verliert verloren lose loses lost|putzen putze putzt putzt geputzt clean cleans cleaned"""
OTHER_VERBS = """schlafen schlafe schläfst schläft geschlafen sleep sleeps slept
lachen lache lachst lacht gelacht laugh laughs laughed|warten warte wartest wartet gewartet wait waits waited
singen singe singst singt gesungen sing sings sang"""
MODALS = "will willst will wollen|kann kannst kann können|muss musst muss müssen"
ENGLISH_MODALS = (("want to", "wants to"), ("can", "can"), ("must", "must"))
PRONOUNS = (("ich", "I", 0), ("du", "you", 1), ("er", "he", 2), ("sie", "she", 2), ("wir", "we", 3))
HAVE = ("habe", "hast", "hat", "haben")
# determiner -> English, and by gender and case (nominative, accusative) the word and the ending of an adjective
DETERMINERS = {
    "the": {"m": ("der e", "den en"), "f": ("die e", "die e"), "n": ("das e", "das e")},
    "a": {"m": ("ein er", "einen en"), "f": ("eine e", "eine e"), "n": ("ein es", "ein es")},
    "my": {"m": ("mein er", "meinen en"), "f": ("meine e", "meine e"), "n": ("mein es", "mein es")},
}


def _rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.replace("\n", "|").split("|")]


class Phrase(NamedTuple):
    """A noun phrase or a pronoun in both languages; `person` selects the verb form (ich, du, er or wir)."""

    german: str
    english: str
    person: int


def _phrase(draw: random.Random, noun: Sequence[str], case: int) -> Phrase:
    german, gender, english = noun
    determiner = draw.choice(list(DETERMINERS))
    word, ending = DETERMINERS[determiner][gender][case].split()
    if draw.random() < 0.3:
        adjective, translation = draw.choice(_rows(ADJECTIVES))
        word, english = f"{word} {adjective}{ending}", f"{translation} {english}"
    determiner = "an" if determiner == "a" and english[0] in "aeiou" else determiner
    return Phrase(f"{word} {german.capitalize()}", f"{determiner} {english}", 2)


def _subject(draw: random.Random) -> Phrase:
    if draw.random() < 0.3:
        return Phrase(*draw.choice(PRONOUNS))
    return _phrase(draw, draw.choice(_rows(BEINGS)), case=0)


def _sentence(draw: random.Random, new: bool) -> tuple[str, str]:
    """Return a random sentence; with `new`, its verb and object are never combined in training sentences."""
    subject, obj = _subject(draw), Phrase("", "", 2)
    verbs, nouns = _rows(OBJECT_VERBS), _rows(BEINGS) + _rows(THINGS)
    if new or draw.random() < 0.75:
        number, place = draw.choice(
            [(v, n) for v in range(len(verbs)) for n in range(len(nouns)) if ((v + n) % 9 == 0) is new]
        )
        verb, obj = verbs[number], _phrase(draw, nouns[place], case=1)
    else:
        verb = draw.choice(_rows(OTHER_VERBS))
    infinitive, participle, base, third, past = verb[0], *verb[4:]
    person, s, o = subject.person, subject.german, obj.german
    form = [*verb[1:4], infinitive][person]
    kind = draw.choice(["now", "today", "past", "yesterday", "first", "question", "modal", "not"])
    if kind == "not" and obj.english.startswith("a"):
        kind = "now"  # with "ein", German uses "kein" and not "nicht"
    does = "does" if person == 2 else "do"
    simple = third if person == 2 else base
    if kind == "modal":
        number = draw.randrange(len(ENGLISH_MODALS))
        modal = _rows(MODALS)[number][person]
        return (
            f"{s} {modal} {o} {infinitive} .",
            f"{subject.english} {ENGLISH_MODALS[number][person == 2]} {base} {obj.english} .",
        )
    german, english = {
        "now": (f"{s} {form} {o} .", f"{subject.english} {simple} {obj.english} ."),
        "today": (f"heute {form} {s} {o} .", f"{subject.english} {simple} {obj.english} today ."),
        "past": (f"{s} {HAVE[person]} {o} {participle} .", f"{subject.english} {past} {obj.english} ."),
        "yesterday": (
            f"{s} {HAVE[person]} gestern {o} {participle} .",
            f"{subject.english} {past} {obj.english} yesterday .",
        ),
        "first": (
            f"gestern {HAVE[person]} {s} {o} {participle} .",
            f"{subject.english} {past} {obj.english} yesterday .",
        ),
        "question": (f"{form} {s} {o} ?", f"{does} {subject.english} {base} {obj.english} ?"),
        "not": (f"{s} {form} {o} nicht .", f"{subject.english} {does} not {base} {obj.english} ."),
    }[kind]
    return german, english


def short_sentences(count: int, seed: int, new: bool = False) -> list[tuple[str, str]]:
    """Return distinct random sentences with their translations.

    Args:
        new: return sentences for a test, in which a verb has an object that it never takes without `new`.
    """
    draw, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        german, english = _sentence(draw, new)
        found[_written(german)] = _written(english)
    return list(found.items())


def joined_sentences(count: int, clauses: int, seed: int) -> list[tuple[str, str]]:
    """Return random sentences of several clauses joined with "und", with their translations."""
    draw, found = random.Random(seed), list[tuple[str, str]]()
    while len(found) < count:
        pairs = [_sentence(draw, False) for _ in range(clauses)]
        if all(german.endswith(" .") for german, _ in pairs):
            joined = [
                " und ".join(german[:-2] for german, _ in pairs),
                " and ".join(english[:-2] for _, english in pairs),
            ]
            found.append((_written(f"{joined[0]} ."), _written(f"{joined[1]} .")))
    return found


def _written(words: str) -> str:
    """Format words as a sentence: a capital at the start, no space before the final punctuation mark."""
    text = " ".join(words.split())
    return text[0].upper() + text[1:-2] + text[-1]


class Words:
    """A tokenizer with one token per word of the given sentences, and the interface of `course.text.Tokenizer`."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.words = sorted({word for sentence in sentences for word in self._split(sentence)})
        self._number = {word: len(SPECIAL) + place for place, word in enumerate(self.words)}
        self.vocab_size = len(SPECIAL) + len(self.words)

    @staticmethod
    def _split(sentence: str) -> list[str]:
        text = sentence.replace(".", " .").replace("?", " ?").lower()
        return ["I" if word == "i" else word for word in text.split()]

    def encode(self, text: str) -> list[int]:
        """Return token indices with BOS and EOS; a word that is not in the vocabulary becomes UNK."""
        return [BOS, *(self._number.get(word, UNK) for word in self._split(text)), EOS]

    def decode(self, tokens: Sequence[int]) -> str:
        """Convert token indices to a sentence, without special tokens."""
        words = " ".join(self.words[token - len(SPECIAL)] for token in map(int, tokens) if token >= len(SPECIAL))
        text = words.replace(" .", ".").replace(" ?", "?")
        return text[:1].upper() + text[1:]

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return the word of each token, for the axes of a heatmap."""
        return [SPECIAL.get(token) or self.words[token - len(SPECIAL)] for token in map(int, tokens)]
