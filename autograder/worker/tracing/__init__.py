"""Inside a worker: what the statements of a call compute, written down for fault localisation."""
