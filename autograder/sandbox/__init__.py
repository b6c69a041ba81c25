"""The grader's side of running untrusted code: workers, the wire protocol, confinement, and errors in student code."""
