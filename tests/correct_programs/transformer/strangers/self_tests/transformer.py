# Differs from the solution in:

import sys
from pathlib import Path


HERE = Path(__file__).resolve().parent


if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Transformer(20, 30, 2, 3, 16, 2, 2, 32, 40, 0.1).eval()
    decoded, caches = model.inference(torch.tensor([[2, 5, 6, 3], [2, 8, 3, 1]]), torch.tensor([4, 3]), 9)
    print([tokens.tolist() for tokens in decoded], "from", Path(__file__).name)
