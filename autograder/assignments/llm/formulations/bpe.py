"""Formulations of byte-pair encoding: other correct ways to write it."""

from autograder.authoring.formulations import Formulation


def _bpe(name: str, function: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"bpe-{name}", "bpe", {function: (text,)}, imports)


BPE = [
    _bpe(
        "merge-with-the-last-token",
        "merge",
        """
        out = []
        free = False
        for token in ids:
            if free and (out[-1], token) == pair:
                out[-1] = new
                free = False
            else:
                out.append(token)
                free = True
        return out
        """,
    ),
    _bpe(
        "merge-by-index",
        "merge",
        """
        out = list(ids)
        place = 0
        while place < len(out) - 1:
            if out[place] == pair[0] and out[place + 1] == pair[1]:
                out[place : place + 2] = [new]
            place += 1
        return out
        """,
    ),
    _bpe(
        "count-in-a-dict",
        "count_pairs",
        """
        found = {}
        for word in words:
            for i in range(1, len(word)):
                key = word[i - 1 : i + 1]
                found[key] = found.get(key, 0) + words[word]
        return found
        """,
    ),
    _bpe(
        "train-with-an-index",
        "train",
        """
        counted = Counter(split_words(text))
        words, times = [list(word) for word in counted], list(counted.values())
        counts = defaultdict(int)
        where = defaultdict(set)

        def note(number, sign):
            for pair in zip(words[number], words[number][1:]):
                counts[pair] += sign * times[number]
                (where[pair].add if sign > 0 else where[pair].discard)(number)
                if not counts[pair]:
                    del counts[pair]

        for number in range(len(words)):
            note(number, 1)
        merges = []
        while counts and len(merges) < num_merges:
            most = max(counts.values())
            best = min(pair for pair in counts if counts[pair] == most)
            for number in sorted(where[best]):
                note(number, -1)
                words[number] = merge(words[number], best, 256 + len(merges))
                note(number, 1)
            merges.append(best)
        return merges
        """,
        "from collections import defaultdict",
    ),
    _bpe(
        "train-sorted",
        "train",
        """
        words = {}
        for word in split_words(text):
            words[tuple(word)] = words.get(tuple(word), 0) + 1
        merges = []
        for r in range(num_merges):
            ranked = sorted(count_pairs(words).items(), key=lambda item: (-item[1], item[0]))
            if len(ranked) == 0:
                return merges
            merges.append(ranked[0][0])
            words = {tuple(merge(list(ids), merges[-1], 256 + r)): n for ids, n in words.items()}
        return merges
        """,
    ),
    _bpe(
        "train-all-words-without-counts",
        "train",
        """
        pieces = [list(word) for word in split_words(text)]
        merges = []
        for new in range(256, 256 + num_merges):
            counts = Counter(pair for ids in pieces for pair in zip(ids, ids[1:]))
            if not counts:
                break
            most = max(counts.values())
            merges.append(min(pair for pair, count in counts.items() if count == most))
            pieces = [merge(ids, merges[-1], new) for ids in pieces]
        return merges
        """,
    ),
    _bpe(
        "word-merges-in-turn",
        "Tokenizer.encode_word",
        """
        ids = list(word)
        for pair, number in self.rank.items():
            ids = merge(ids, pair, 256 + number)
        return ids
        """,
    ),
    _bpe(
        "word-one-place-at-a-time",
        "Tokenizer.encode_word",
        """
        ids = [int(byte) for byte in word]
        while True:
            ranked = [(self.rank[pair], i) for i, pair in enumerate(zip(ids[:-1], ids[1:])) if pair in self.rank]
            if not ranked:
                return ids
            number, i = min(ranked)
            ids[i : i + 2] = [256 + number]
        """,
    ),
    _bpe(
        "encode-by-searching",
        "Tokenizer.encode",
        """
        ids = []
        start = i = 0

        def plain(piece):
            return [token for word in split_words(piece) for token in self.encode_word(word)]

        while i < len(text):
            here = [special for special in self.special if text.startswith(special, i)]
            if here:
                special = max(here, key=len)
                ids += plain(text[start:i]) + [self.special[special]]
                i = start = i + len(special)
            else:
                i += 1
        return ids + plain(text[start:])
        """,
    ),
    _bpe(
        "encode-finditer",
        "Tokenizer.encode",
        """
        pattern = "|".join(re.escape(s) for s in sorted(self.special, key=lambda s: -len(s))) or r"(?!)"
        ids, end = [], 0
        for found in re.finditer(pattern, text):
            for word in split_words(text[end : found.start()]):
                ids.extend(self.encode_word(word))
            ids.append(self.special[found.group()])
            end = found.end()
        for word in split_words(text[end:]):
            ids.extend(self.encode_word(word))
        return ids
        """,
    ),
    _bpe(
        "decode-bytearray",
        "Tokenizer.decode",
        """
        everything = bytearray()
        for token in ids:
            everything += self.pieces[token]
        return everything.decode(errors="replace")
        """,
    ),
]
