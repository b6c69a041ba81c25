"""Questions for students about their own code, with answers that come from running it."""
