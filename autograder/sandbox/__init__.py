"""The grader's side of running untrusted code: workers, the wire protocol, confinement, errors in student code."""
