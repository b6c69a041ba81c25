"""What runs beside code that nobody trusts: loads it, refuses ready-made parts, answers requests, traces calls."""
