"""What people read of the results: console, HTML pages, Gradescope's results.json, and --watch."""
