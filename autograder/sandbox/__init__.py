"""The grader's side of running untrusted code: workers, the wire protocol, confinement, and the errors of student
code."""
