"""Other correct ways to write stages 3 and 4 of `attention`: the decoder with attention, and translation."""

from autograder.authoring.formulations import Formulation

STEP, UNROLL, MODEL = "AttentionDecoder.step", "AttentionDecoder.forward", "Seq2Seq.forward"
TRANSLATE, BLEU = "Seq2Seq.translate", "sentence_bleu"


def _step(name: str, text: str) -> Formulation:
    return Formulation(f"step-{name}", "seq2seq", {STEP: (text,)})


def _unrolled(name: str, text: str, model: str) -> Formulation:
    return Formulation(f"unrolled-{name}", "seq2seq", {UNROLL: (text,), MODEL: (model,)})


def _translate(name: str, text: str) -> Formulation:
    return Formulation(f"translate-{name}", "seq2seq", {TRANSLATE: (text,)})


def _bleu(name: str, text: str, imports: str = "") -> Formulation:
    return Formulation(f"bleu-{name}", "seq2seq", {BLEU: (text,)}, imports)


SEQ2SEQ = [
    _step(
        "query-indexed",
        """
        query = state[:, None, :]
        context = self.attention(queries=query, keys=enc_outputs, values=enc_outputs, valid_lens=src_lengths)[:, 0, :]
        weights = self.attention.attention_weights[:, 0, :]
        state = self.cell(torch.cat((embedded, context), 1), state)
        logits = self.predict(state, context, embedded)
        """,
    ),
    _step(
        "weights-times-outputs",
        """
        self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths)
        weights = self.attention.attention_weights.view(len(token), -1)
        context = (weights.unsqueeze(-1) * enc_outputs).sum(dim=1)
        new_state = self.cell(torch.hstack([embedded, context]), state)
        logits = self.predict(new_state, context, embedded)
        state = new_state
        """,
    ),
    _step(
        "gates-by-hand",
        """
        context = self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths)
        weights = self.attention.attention_weights
        context, weights = context.squeeze(1), weights.squeeze(1)
        x = torch.cat([embedded, context], dim=-1)
        of_x = x @ self.cell.weight_ih.T + self.cell.bias_ih
        of_state = state @ self.cell.weight_hh.T + self.cell.bias_hh
        (x_r, x_z, x_n), (s_r, s_z, s_n) = of_x.chunk(3, 1), of_state.chunk(3, 1)
        z = torch.sigmoid(x_z + s_z)
        state = (1 - z) * torch.tanh(x_n + torch.sigmoid(x_r + s_r) * s_n) + z * state
        logits = self.predict(state, context, embedded)
        """,
    ),
    _step(
        "score-by-hand",
        """
        attention = self.attention
        hidden = torch.tanh(attention.W_q(state).unsqueeze(1) + attention.W_k(enc_outputs))
        scores = attention.w_v(hidden).squeeze(-1)
        inside = torch.arange(enc_outputs.size(1)) < src_lengths.unsqueeze(1)
        weights = scores.masked_fill(~inside, -1e9).softmax(dim=1)
        context = torch.einsum("bt,bth->bh", weights, enc_outputs)
        state = self.cell(torch.cat([embedded, context], dim=1), state)
        logits = self.output(self.dropout(torch.tanh(self.readout(torch.cat([state, context, embedded], dim=1)))))
        """,
    ),
    _unrolled(
        "preallocated",
        """
        B, T_d = tgt.shape
        logits = torch.zeros(B, T_d, self.output.out_features, dtype=enc_outputs.dtype)
        weights = torch.zeros(B, T_d, enc_outputs.shape[1], dtype=enc_outputs.dtype)
        for t in range(T_d):
            logits[:, t], state, weights[:, t] = self.step(tgt[:, t], state, enc_outputs, src_lengths)
        return logits, weights
        """,
        """
        enc_outputs, state = self.encoder(src, src_lengths)
        logits, weights = self.decoder(tgt, state, enc_outputs, src_lengths)
        for b, length in enumerate(tgt_lengths):
            logits[b, length:] = 0
        return logits
        """,
    ),
    _unrolled(
        "concatenated",
        """
        outputs, maps = [], []
        for t in range(tgt.shape[1]):
            output, state, weights = self.step(tgt[:, t], state, enc_outputs, src_lengths)
            outputs.append(output.unsqueeze(1))
            maps.append(weights[:, None])
        return torch.cat(outputs, dim=1), torch.cat(maps, 1)
        """,
        """
        encoded = self.encoder(src, src_lengths)
        logits = self.decoder(tgt=tgt, state=encoded[1], enc_outputs=encoded[0], src_lengths=src_lengths)[0]
        inside = torch.arange(tgt.shape[1]).expand(tgt.shape) < tgt_lengths.unsqueeze(-1)
        return logits * inside.unsqueeze(-1).to(logits.dtype)
        """,
    ),
    _unrolled(
        "scores-at-the-end",
        """
        states, contexts, weights, tokens = [], [], [], tgt.T
        embedded = self.dropout(self.embedding(tgt))
        for t in range(len(tokens)):
            context = self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths).squeeze(1)
            weights.append(self.attention.attention_weights.squeeze(1))
            state = self.cell(torch.cat([embedded[:, t], context], dim=-1), state)
            states.append(state)
            contexts.append(context)
        logits = self.predict(torch.stack(states, 1), torch.stack(contexts, 1), embedded)
        return logits, torch.stack(weights, 1)
        """,
        """
        enc_outputs, state = self.encoder(src, src_lengths)
        logits, _ = self.decoder(tgt, state, enc_outputs, src_lengths)
        mask = torch.stack([torch.arange(tgt.size(1)) < int(length) for length in tgt_lengths])
        return torch.where(mask[:, :, None], logits, torch.zeros_like(logits))
        """,
    ),
    _unrolled(
        "helper-and-list-of-weights",
        """
        def one(state, token):
            return self.step(token, state, enc_outputs, src_lengths)

        results = []
        for column in range(tgt.size(1)):
            result = one(state, tgt[:, column])
            state = result[1]
            results.append(result)
        logits, weights = (torch.stack([result[part] for result in results]) for part in (0, 2))
        return logits.transpose(0, 1), weights.permute(1, 0, 2)
        """,
        """
        memory, state = self.encoder(src, src_lengths)
        rows = []
        for b in range(src.size(0)):
            T = int(tgt_lengths[b])
            logits, _ = self.decoder(tgt[b : b + 1, :T], state[b : b + 1], memory[b : b + 1], src_lengths[b : b + 1])
            rows.append(torch.cat([logits[0], logits.new_zeros(tgt.size(1) - T, logits.size(-1))]))
        return torch.stack(rows)
        """,
    ),
    _translate(
        "sentence-by-sentence",
        """
        results = []
        for b in range(len(src)):
            length = src_lengths[b : b + 1]
            memory, state = self.encoder(src[b : b + 1], length)
            tokens = [self.sos_idx]
            for _ in range(max_output_length):
                logits, state, _ = self.decoder.step(torch.tensor([tokens[-1]]), state, memory, length)
                tokens.append(logits.argmax(-1).item())
                if tokens[-1] == self.eos_idx:
                    break
            results.append(tokens)
        T = max(len(tokens) for tokens in results)
        return torch.tensor([tokens + [self.pad_idx] * (T - len(tokens)) for tokens in results])
        """,
    ),
    _translate(
        "preallocated",
        """
        B = src.size(0)
        memory, state = self.encoder(src, src_lengths)
        tokens = torch.full((B, max_output_length + 1), self.pad_idx, dtype=torch.long)
        tokens[:, 0] = self.sos_idx
        active = torch.ones(B, dtype=torch.bool)
        for t in range(max_output_length):
            logits, state, _ = self.decoder.step(tokens[:, t], state, memory, src_lengths)
            best = torch.argmax(logits, dim=1)
            tokens[active, t + 1] = best[active]
            active = active & (best != self.eos_idx)
            if not active.any():
                break
        return tokens[:, : t + 2]
        """,
    ),
    _translate(
        "unfinished-rows-only",
        """
        memory, state = self.encoder(src, src_lengths)
        rows = list(range(len(src)))
        tokens = [[self.sos_idx] for _ in rows]
        for _ in range(max_output_length):
            if not rows:
                break
            last = torch.tensor([tokens[row][-1] for row in rows])
            logits, state, _ = self.decoder.step(last, state, memory, src_lengths[rows])
            for row, token in zip(rows, logits.argmax(dim=-1).tolist()):
                tokens[row].append(token)
            kept = [place for place, row in enumerate(rows) if tokens[row][-1] != self.eos_idx]
            rows, state, memory = [rows[place] for place in kept], state[kept], memory[kept]
        longest = max(map(len, tokens))
        for row in tokens:
            row += [self.pad_idx] * (longest - len(row))
        return torch.tensor(tokens)
        """,
    ),
    _translate(
        "where",
        """
        enc_outputs, state = self.encoder(src, src_lengths)
        tgt = torch.ones(src.shape[0], 1, dtype=torch.long) * self.sos_idx
        done = torch.zeros(src.shape[0], dtype=torch.bool)
        while tgt.shape[1] < max_output_length + 1:
            logits, state, weights = self.decoder.step(tgt[:, -1], state, enc_outputs, src_lengths)
            new = torch.where(done, self.pad_idx, logits.softmax(-1).max(dim=-1).indices)
            tgt = torch.cat([tgt, new.unsqueeze(1)], dim=1)
            done |= new == self.eos_idx
            if bool(done.all()):
                return tgt
        return tgt
        """,
    ),
    _bleu(
        "collected-subsequences",
        """
        len_candidate, len_reference = len(candidate), len(reference)
        if len_candidate == 0:
            return 0
        score = math.exp(min(0, 1 - len_reference / len_candidate))
        for n in range(1, min(k, len_candidate) + 1):
            num_matches, subsequences = 0, collections.defaultdict(int)
            for i in range(len_reference - n + 1):
                subsequences[tuple(reference[i : i + n])] += 1
            for i in range(len_candidate - n + 1):
                if subsequences[tuple(candidate[i : i + n])] > 0:
                    num_matches += 1
                    subsequences[tuple(candidate[i : i + n])] -= 1
            score *= math.pow(num_matches / (len_candidate - n + 1), math.pow(0.5, n))
        return score
        """,
        "import collections",
    ),
    _bleu(
        "logarithms",
        """
        if len(candidate) == 0:
            return 0.0
        log = min(0, 1 - len(reference) / len(candidate))
        for n in range(1, k + 1):
            if n > len(candidate):
                break
            mine = [tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
            theirs = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
            matches = sum(min(mine.count(gram), theirs.count(gram)) for gram in set(mine))
            if matches == 0:
                return 0.0
            log += 2**-n * math.log(matches / len(mine))
        return math.exp(log)
        """,
    ),
    _bleu(
        "numpy-and-zip",
        """
        if not len(candidate):
            return 0.0
        precisions = []
        for n in range(1, min(k, len(candidate)) + 1):
            mine, theirs = (list(zip(*(tokens[i:] for i in range(n)))) for tokens in (candidate, reference))
            hits = 0
            for gram in mine:
                if gram in theirs:
                    theirs.remove(gram)
                    hits += 1
            precisions.append(hits / len(mine))
        brevity = 1.0 if len(candidate) > len(reference) else np.exp(1 - len(reference) / len(candidate))
        return float(brevity * np.prod(np.power(precisions, 0.5 ** np.arange(1, len(precisions) + 1))))
        """,
        "import numpy as np",
    ),
]
