"""In a worker: record the results of a call's statements, for fault localisation."""
