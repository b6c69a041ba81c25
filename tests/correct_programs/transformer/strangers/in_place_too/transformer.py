# Differs from the solution in:

def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    if device is None and isinstance(lengths, torch.Tensor):
        device = lengths.device
    lengths = torch.as_tensor(lengths, device=device)
    mask = torch.ones(len(lengths), int(lengths.max()), device=lengths.device, dtype=dtype)
    for row, n in zip(mask, lengths.tolist()):
        row[:n] = 0
    return mask
