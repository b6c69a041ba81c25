"""Known mistakes in stage 3: one step of the decoder."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
CONTEXT = "context = self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths).squeeze(1)"
WEIGHTS = "weights = self.attention.attention_weights.squeeze(1)  # (B, 1, T_e) -> (B, T_e)"
STATE = "state = self.cell(torch.cat([embedded, context], dim=-1), state)"
LOGITS = "logits = self.predict(state, context, embedded)"
RETURN = "return logits, state, weights"

ORDER = "The docstring lists context, new state and logits in the order in which they depend on each other."
ATTENDING = "The docstring says which tensor is the query, and which are the keys and values."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        id="bahdanau.predicts-from-previous-state",
        module="seq2seq",
        old=f"{STATE}\n        {LOGITS}",
        new=f"{LOGITS}\n        {STATE}",
        looks_like="You compute the logits from the previous state instead of the new one.",
        read_again="The new state depends on the token of this step; the previous state does not. " + ORDER,
    ),
    Mistake(
        id="bahdanau.asks-with-new-state",
        module="seq2seq",
        old=f"{WEIGHTS}\n        {STATE}",
        new=f"{STATE}\n        {CONTEXT}\n        {WEIGHTS}",
        looks_like="Your query is the new state, as in Luong's attention.",
        read_again="Bahdanau et al. look at the source before the state is updated, Luong et al. afterwards. "
        + ATTENDING,
    ),
    Mistake(
        id="bahdanau.state-not-updated",
        module="seq2seq",
        old=f"{STATE}\n        {LOGITS}",
        new=f"new_state = {STATE.partition(' = ')[2]}\n        {LOGITS.replace('state', 'new_state')}",
        looks_like="Your step returns the state that it received, so the next step would start from the same state.",
        read_again="The second result is the state after the step. See the Returns section of the docstring.",
    ),
    Mistake(
        id="bahdanau.cell-without-state",
        module="seq2seq",
        old=STATE,
        new=STATE.replace(", state)", ")"),
        looks_like="Your new state does not depend on the previous one.",
        read_again="The cell needs its input and the previous state; without a state it starts from zeros.",
    ),
    Mistake(
        id="bahdanau.context-before-token",
        module="seq2seq",
        old=STATE,
        new=STATE.replace("[embedded, context]", "[context, embedded]"),
        looks_like="In the input to your cell, the context comes before the embedded token.",
        read_again="A model could learn with either order, but the docstring specifies one and the trained weights "
        "rely on it.",
    ),
    Mistake(
        id="bahdanau.cell-without-context",
        module="seq2seq",
        old=STATE,
        new=STATE.replace("context]", "0 * context]"),
        looks_like="Your new state does not depend on the context.",
        read_again="The input to the cell contains both the context and the token. " + ORDER,
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
        looks_like="The input to your cell is only the context, which does not have the size that the cell expects.",
        read_again="The cell reads the embedded token and the context side by side. " + ORDER,
    ),
    Mistake(
        id="bahdanau.lengths-not-passed-on",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace(", src_lengths", ""),
        looks_like="Your attention attends to the padding of the source.",
        read_again="Attention needs the lengths to know where each sentence ends; they are its last argument.",
    ),
    Mistake(
        id="bahdanau.mean-of-the-source",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = enc_outputs.mean(dim=1)",
        looks_like="Your context is the plain mean of all encoder outputs, whatever the weights are.",
        read_again="The context is the result of attention, a weighted mean.",
    ),
    Mistake(
        id="bahdanau.last-encoder-output",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = enc_outputs[:, -1]",
        looks_like="Your context is the last encoder output, the same in every step.",
        read_again="This is the bottleneck that attention removes. The context is the result of attention.",
    ),
    Mistake(
        id="bahdanau.token-asks",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze", "embedded.unsqueeze"),
        looks_like="Your query is the embedded token, which does not have the size of a query.",
        read_again=ATTENDING,
    ),
    Mistake(
        id="bahdanau.source-asks",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze(1), enc_outputs", "enc_outputs, state.unsqueeze(1)"),
        looks_like="The encoder outputs are your queries and the state is your key: the queries and keys are swapped.",
        read_again=ATTENDING,
    ),
    Mistake(
        id="bahdanau.query-without-axis",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("state.unsqueeze(1)", "state"),
        looks_like="Your query lacks the position axis.",
        read_again="Attention expects (B, T_q, size), and a decoder passes one query at a time.",
    ),
    Mistake(
        id="bahdanau.weights-not-squeezed",
        module="seq2seq",
        old=WEIGHTS,
        new="weights = self.attention.attention_weights",
        looks_like="Your weights still have an axis for the single query.",
        read_again="See the Returns section of the docstring for the shape of the weights of one step.",
    ),
    Mistake(
        id="bahdanau.predict-arguments-exchanged",
        module="seq2seq",
        old=LOGITS,
        new="logits = self.predict(state, embedded, context)",
        looks_like="Your logits are computed with the context and the embedded token swapped.",
        read_again="The sizes fit in either order, since the three tensors are concatenated. See the arguments of "
        "predict.",
    ),
    Mistake(
        id="bahdanau.softmax-of-logits",
        module="seq2seq",
        old=LOGITS,
        new=f"{LOGITS}.softmax(dim=-1)",
        looks_like="Your logits are probabilities.",
        read_again="The loss applies the softmax itself. See the Returns section of the docstring.",
    ),
    Mistake(
        id="bahdanau.results-exchanged",
        module="seq2seq",
        old=LOGITS,
        new=f"{LOGITS}\n        logits, state = state, logits",
        looks_like="You return the logits as the new state, as if the two were swapped.",
        read_again="See the Returns section of the docstring for the order of the results.",
    ),
    # The visible tests only warn of this.
    Mistake(
        id="bahdanau.dropout-of-the-context",
        module="seq2seq",
        old=CONTEXT,
        new=f"{CONTEXT}\n        context = self.dropout(context)",
        looks_like="During training, your step applies dropout to the context too.",
        read_again="The code that we provide already applies dropout; nothing else needs it.",
        seen_by="hidden",
    ),
    Mistake(
        id="bahdanau.source-detached",
        module="seq2seq",
        old=CONTEXT,
        new=CONTEXT.replace("enc_outputs, enc_outputs", "enc_outputs.detach(), enc_outputs.detach()"),
        looks_like="Your step is right, but no gradient reaches the encoder through attention.",
        read_again="Somewhere the computation leaves the autograd graph: through detach or the data attribute.",
        seen_by="hidden",
    ),
)
