"""What people read: the console, HTML pages, Gradescope's results.json, and --watch."""
