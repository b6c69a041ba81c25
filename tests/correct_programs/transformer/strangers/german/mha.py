# Differs from the solution in:

def in_köpfe(größe: torch.Tensor, anzahl: int) -> torch.Tensor:
    sätze, länge, breite = größe.shape
    return größe.reshape(sätze, länge, anzahl, breite // anzahl).transpose(1, 2)


def verbiete(punkte: torch.Tensor, maske: torch.Tensor) -> torch.Tensor:
    return punkte.masked_fill(maske.ne(0), torch.finfo(punkte.dtype).min)


def ausfall(x: torch.Tensor, p: float, übung: bool) -> torch.Tensor:
    if not übung or p == 0:
        return x
    if p == 1:
        return x * 0
    bleibt = torch.rand(x.shape, device=x.device) > p
    return torch.where(bleibt, x / (1 - p), torch.zeros_like(x))


class MultiHeadAttention(nn.Module):
    def compute_mh_qkv_transformation(
        self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        anfragen, schlüssel, werte = self.W_q(Q), self.W_k(K), self.W_v(V)
        return in_köpfe(anfragen, self.num_heads), in_köpfe(schlüssel, self.num_heads), in_köpfe(werte, self.num_heads)

    def compute_scaled_dot_product_attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        punkte = query @ key.transpose(2, 3) / math.sqrt(self.d_k)
        if key_padding_mask is not None:
            punkte = verbiete(punkte, key_padding_mask.unsqueeze(1).unsqueeze(2))
        if attention_mask is not None:
            punkte = verbiete(punkte, attention_mask.unsqueeze(1))
        gewichte = punkte.softmax(dim=-1)
        ergebnis = gewichte @ value
        return ergebnis.transpose(1, 2).flatten(2)
