"""Stand-ins: modules with the students' interface, built on torch's own layers.

While one stage is graded, the functions of the other stages come from here, so that a wrong module costs only its own
points. The modules import each other by bare name, as the students' modules do. Each relies only on the interface of
the others, since they may be the student's own modules.
"""
