"""The drawings of the assignment `attention`: a lookup, three scores, a bottleneck, Bahdanau's attention."""

from course.figures.drawing import Drawing

SOURCE = ["Der", "Fuchs", "niest", "</s>"]
TARGET = ["<s>", "The", "fox", "sneezes", "</s>"]


def lookup() -> Drawing:
    d = Drawing(
        1010,
        330,
        "A soft lookup",
        "From left to right: one query is compared with the keys k_1, k_2 and k_n. Each comparison gives a score. A "
        "normalisation turns all scores together into weights a_1, a_2 and a_n that sum to 1. Each weight multiplies "
        "the value of its key, and the sum of the products is the answer.",
    )
    d.box(20, 130, 90, 50, "query", "new")
    for row, index in enumerate(("1", "2", "n")):
        y = 70 + 85 * row
        d.box(190, y - 22, 90, 44, f"k_{index}", "token")
        d.arrow((110, 155), (140, 155), (165, y), (190, y))
        d.arrow((280, y), (330, y))
        d.box(330, y - 22, 110, 44, "compare")
        d.arrow((440, y), (500, y))
        d.arrow((600, y), (670, y))
        d.text(635, y - 14, f"a_{index}", "strong")
        d.box(670, y - 22, 120, 44, f"times v_{index}", "token")
        d.arrow((790, y), (838, y), (838, 155), head=False)
    d.arrow((838, 155), (859, 155))
    d.box(500, 40, 100, 230, "normalise", "norm")
    d.plus(870, 155)
    d.arrow((881, 155), (905, 155))
    d.text(955, 155, "answer", "strong")
    d.text(65, 205, "asks", "small")
    d.text(235, 20, "keys", "small")
    d.text(470, 20, "scores", "small")
    d.text(635, 20, "weights, sum 1", "small")
    d.text(770, 20, "values", "small")
    d.text(505, 300, "there may be any number of pairs: nothing in the drawing depends on n", "small")
    return d


def scores() -> Drawing:
    d = Drawing(
        1010,
        360,
        "Three scores",
        "Above, from left to right: a query q and a key k go into a score a(q, k). The scores of all keys go through a "
        "masked softmax over the valid keys, which gives weights. The weights average the values: that is the answer. "
        "Below, three possible scores: the dot product of q and k divided by the square root of d; the "
        "bilinear score, q times M times k divided by the square root of d_k; the additive score, w_v times the tanh "
        "of W_q q plus W_k k.",
    )
    d.text(45, 75, "query q", "strong")
    d.text(45, 135, "key k", "strong")
    d.arrow((90, 75), (130, 75), (130, 98), (165, 98))
    d.arrow((90, 135), (130, 135), (130, 112), (165, 112))
    d.box(165, 75, 130, 60, "score\na(q, k)", "new")
    d.arrow((295, 105), (390, 105))
    d.text(342, 82, "scores", "small")
    d.text(342, 130, "(B, T_q, T_k)", "small")
    d.box(390, 75, 140, 60, "softmax over\nvalid keys", "norm")
    d.text(460, 25, "valid lengths", "strong")
    d.arrow((460, 38), (460, 75))
    d.arrow((530, 105), (640, 105))
    d.text(585, 82, "weights", "small")
    d.text(585, 130, "(B, T_q, T_k)", "small")
    d.box(640, 75, 140, 60, "weights · V", "attention")
    d.text(710, 25, "values V", "strong")
    d.arrow((710, 38), (710, 75))
    d.arrow((780, 105), (840, 105))
    d.text(910, 94, "answer", "strong")
    d.text(910, 116, "(B, T_q, d_v)", "small")
    d.frame(20, 175, 970, 165, "possible scores")
    d.arrow((230, 200), (230, 135), kind="thin")
    kinds = (
        ("scaled dot product", "q^T k / √d", "no parameters, equal sizes"),
        ("bilinear", "q^T M k / √d_k", "M of shape (d_q, d_k)"),
        ("additive", "w_v^T tanh(W_q q + W_k k)", "one hidden layer of h units"),
    )
    for number, (name, formula, words) in enumerate(kinds):
        x = 45 + 320 * number
        d.text(x + 140, 216, name, "strong")
        d.box(x, 235, 280, 50, formula, "linear")
        d.text(x + 140, 310, words, "small")
    return d


def bottleneck() -> Drawing:
    d = Drawing(
        1060,
        300,
        "A sentence in one vector",
        "On the left the encoder: a recurrent network reads Der Fuchs niest </s> word by word, and each state goes "
        "into the next. Its last state, one vector of h numbers, is all that the decoder gets. On the right the "
        "decoder: from this vector and the words <s> The fox sneezes it predicts The fox sneezes </s>, and each state "
        "goes into the next.",
    )
    for place, word in enumerate(SOURCE):
        x = 30 + 105 * place
        d.box(x, 225, 85, 38, word, "token")
        d.arrow((x + 42, 225), (x + 42, 170))
        d.box(x, 120, 85, 50, "state", "network")
        if place:
            d.arrow((x - 20, 145), (x, 145))
    d.arrow((430, 145), (470, 145))
    d.box(470, 105, 105, 80, "one vector\n(B, h)", "attention")
    d.text(522, 215, "whatever the\nlength of the\nsentence", "small")
    d.arrow((575, 145), (615, 145))
    for place in range(4):
        x = 615 + 108 * place
        d.box(x, 225, 88, 38, TARGET[place], "token")
        d.arrow((x + 44, 225), (x + 44, 170))
        d.box(x, 120, 88, 50, "state", "network")
        d.arrow((x + 44, 120), (x + 44, 73))
        d.box(x, 35, 88, 38, TARGET[place + 1], "new")
        if place:
            d.arrow((x - 20, 145), (x, 145))
    d.text(230, 85, "encoder", "strong")
    d.text(825, 15, "decoder predicts", "small")
    d.text(825, 282, "decoder reads", "small")
    return d


def bahdanau() -> Drawing:
    d = Drawing(
        1060,
        470,
        "One step of a decoder with attention",
        "Below, the encoder has read Der Fuchs niest </s> in both directions and returns a vector for each position: "
        "the keys and values. The query is the previous state of the decoder. Attention gives each position a weight, "
        "0.1, 0.8, 0.1 and 0, and the context is the weighted mean of the vectors. The GRU cell reads the embedded "
        "token The, followed by the context, and computes a new state from the previous one. The new state, the "
        "context and the embedded token together give the scores of the next token, fox.",
    )
    d.text(20, 30, "One step: after <s> The", "strong", "start")
    for place, (word, weight) in enumerate(zip(SOURCE, ("0.1", "0.8", "0.1", "0.0"), strict=True)):
        x = 45 + 125 * place
        d.box(x, 410, 95, 38, word, "token")
        d.arrow((x + 47, 410), (x + 47, 375))
        d.box(x, 320, 95, 55, "→ and ←\n(2h)", "network")
        if place:
            d.arrow((x - 30, 337), (x, 337))
            d.arrow((x, 358), (x - 30, 358))
        d.arrow((x + 47, 320), (x + 47, 235))
        d.text(x + 70, 278, weight, "strong")
    d.text(560, 338, "encoder outputs (B, T_e, 2h):\nkeys and values", "small", "start")
    d.box(45, 175, 470, 60, "additive attention: scores, softmax over the source, mean", "attention")
    d.text(560, 278, "weights (B, T_e)", "small", "start")
    d.text(110, 92, "previous state", "strong")
    d.text(110, 114, "(B, h)", "small")
    d.arrow((110, 127), (110, 175))
    d.text(50, 150, "query", "small")
    d.arrow((515, 205), (660, 205), (660, 130))
    d.text(590, 190, "context (B, 2h)", "small")
    d.arrow((170, 100), (600, 100))
    d.box(600, 70, 120, 60, "GRU cell", "network")
    d.box(610, 10, 100, 34, "The", "token")
    d.arrow((660, 44), (660, 70))
    d.arrow((720, 100), (800, 100))
    d.text(760, 78, "new state", "small")
    d.text(760, 122, "(B, h)", "small")
    d.box(800, 70, 100, 60, "predict", "linear")
    d.arrow((660, 205), (850, 205), (850, 130))
    d.arrow((710, 27), (850, 27), (850, 70))
    d.arrow((900, 100), (945, 100))
    d.box(945, 80, 90, 40, "fox", "new")
    d.text(985, 142, "scores (B, V)", "small")
    return d


ATTENTION = {"lookup": lookup, "scores": scores, "bottleneck": bottleneck, "bahdanau": bahdanau}
