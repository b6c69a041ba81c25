"""Reports for people: the console, HTML pages, Gradescope's results.json, and --watch."""
