"""The worker's side: runs untrusted code, refuses ready-made parts, answers requests, traces calls."""
