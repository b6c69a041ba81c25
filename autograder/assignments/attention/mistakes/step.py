"""Known mistakes of stage 3: one step of the decoder."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CONTEXT = "context = self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths).squeeze(1)"
WEIGHTS = "weights = self.attention.attention_weights.squeeze(1)  # (B, 1, T_e) -> (B, T_e)"
STATE = "state = self.cell(torch.cat([embedded, context], dim=-1), state)"
LOGITS = "logits = self.predict(state, context, embedded)"
RETURN = "return logits, state, weights"

ORDER = "The docstring lists context, new state and logits in the order in which they depend on each other."
ATTENDING = "The docstring says what is the query and what are the keys and values."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="bahdanau.predicts-from-previous-state",
        module="seq2seq",
        old=f"{STATE}\n        {LOGITS}",
        new=f"{LOGITS}\n        {STATE}",
        looks_like="Your logits are made with the previous state instead of the new one.",
        read_again="The state after the step knows the token of this step, the one before it does not. " + ORDER,
    ),
    Mistake(
        id="bahdanau.asks-with-new-state",
        module="seq2seq",
        old=f"{WEIGHTS}\n        {STATE}",
        new=f"{STATE}\n        {CONTEXT}\n        {WEIGHTS}",
        looks_like="Your attention asks with the new state, as Luong's does.",
        read_again="Bahdanau et al. look at the source before the step, Luong et al. after it. " + ATTENDING,
    ),
    Mistake(
        id="bahdanau.state-not-updated",
        module="seq2seq",
        old=f"{STATE}\n        {LOGITS}",
        new=f"new_state = {STATE.partition(' = ')[2]}\n        {LOGITS.replace('state', 'new_state')}",
        looks_like="Your step returns the state that it got: the next step would start where this one did.",
        read_again="The second result is the state after the step. See under Returns in the docstring.",
    ),
    Mistake(
        id="bahdanau.cell-without-state",
        module="seq2seq",
        old=STATE,
        new=STATE.replace(", state)", ")"),
        looks_like="Your new state does not depend on the previous one.",
        read_again="The cell needs its input and the state that it goes on from; without one it takes zeros.",
    ),
    Mistake(
        id="bahdanau.context-before-token",
        module="seq2seq",
        old=STATE,
        new=STATE.replace("[embedded, context]", "[context, embedded]"),
        looks_like="The input of your cell holds the context first and the embedded token behind it.",
        read_again="Either order can be learned, but the trained weights and the docstring fix one.",
    ),
    Mistake(
        id="bahdanau.cell-without-context",
        module="seq2seq",
        old=STATE,
        new=STATE.replace("context]", "0 * context]"),
        looks_like="Your new state does not depend on the context.",
        read_again="What attention finds goes into the cell together with the token. " + ORDER,
    ),
    Mistake(
        id="bahdanau.cell-without-token",
        module="seq2seq",
        old=STATE,
        new=STATE.replace("[embedded", "[0 * embedded"),
        looks_like="Your new state does not depend on the token of the step.",
        read_again="The cell reads the embedded token and the context side by side. " + ORDER,
    ),
    Mistake(
        id="bahdanau.context-alone-in-cell",
        module="seq2seq",
        old=STATE,
        new="state = self.cell(context, state)",
        looks_like="The input of your cell is the context alone, which has not the size that it expects.",
        read_again="The cell reads the embedded token and the context side by side. " + ORDER,
    ),
    Mistake(
        id="bahdanau.lengths-not-passed-on",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace(", src_lengths", ""),
        looks_like="Your attention looks at the padding of the source.",
        read_again="The lengths tell attention where each sentence ends; they are its last argument.",
    ),
    Mistake(
        id="bahdanau.mean-of-the-source",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = enc_outputs.mean(dim=1)",
        looks_like="Your context is the mean of all encoder outputs, whatever the weights are.",
        read_again="The context is what attention returns, a mean with weights.",
    ),
    Mistake(
        id="bahdanau.last-encoder-output",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = enc_outputs[:, -1]",
        looks_like="Your context is the last encoder output, the same in every step.",
        read_again="That is the bottleneck which attention removes. The context is what attention returns.",
    ),
    Mistake(
        id="bahdanau.token-asks",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze", "embedded.unsqueeze"),
        looks_like="Your attention asks with the embedded token, which has not the size of a query.",
        read_again=ATTENDING,
    ),
    Mistake(
        id="bahdanau.source-asks",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze(1), enc_outputs", "enc_outputs, state.unsqueeze(1)"),
        looks_like="The encoder outputs ask, and the state answers: queries and keys are exchanged.",
        read_again=ATTENDING,
    ),
    Mistake(
        id="bahdanau.query-without-axis",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze(1)", "state"),
        looks_like="Your query has no axis of positions.",
        read_again="Attention expects (B, T_q, size), and a decoder asks with one query at a time.",
    ),
    Mistake(
        id="bahdanau.weights-not-squeezed",
        module="seq2seq",
        old=WEIGHTS,
        new="weights = self.attention.attention_weights",
        looks_like="Your weights still have the axis of the single query.",
        read_again="See under Returns in the docstring for the shape of the weights of one step.",
    ),
    Mistake(
        id="bahdanau.predict-arguments-exchanged",
        module="seq2seq",
        old=LOGITS,
        new="logits = self.predict(state, embedded, context)",
        looks_like="Your logits are made with context and embedded token exchanged.",
        read_again="Both orders fit in size, since the three are put side by side. See the arguments of predict.",
    ),
    Mistake(
        id="bahdanau.softmax-of-logits",
        module="seq2seq",
        old=LOGITS,
        new=f"{LOGITS}.softmax(dim=-1)",
        looks_like="Your logits are probabilities.",
        read_again="The loss takes the softmax itself. See under Returns in the docstring.",
    ),
    Mistake(
        id="bahdanau.results-exchanged",
        module="seq2seq",
        old=LOGITS,
        new=f"{LOGITS}\n        logits, state = state, logits",
        looks_like="Your new state holds the logits, as if the two were exchanged.",
        read_again="See under Returns in the docstring for the order of the results.",
    ),
    # The visible tests only warn of it.
    Mistake(
        id="bahdanau.dropout-of-the-context",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = self.dropout(context)",
        looks_like="In training, your step drops parts of the context too.",
        read_again="Dropout is in the lines that are given, and nowhere else.",
        seen_by="hidden",
    ),
    Mistake(
        id="bahdanau.source-detached",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("enc_outputs, enc_outputs", "enc_outputs.detach(), enc_outputs.detach()"),
        looks_like="Your step is right, but the encoder gets no gradient through attention.",
        read_again="Somewhere the computation leaves the graph of autograd: by detaching, or by the attribute data.",
        seen_by="hidden",
    ),
)
