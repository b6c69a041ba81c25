"""The code in a worker: it runs untrusted code, refuses ready-made parts, answers requests and traces calls."""
