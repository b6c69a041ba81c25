"""Running code that nobody trusts: workers, the wire to them, their confinement, and what can go wrong."""
