"""Stand-ins for `attention`: modules with the students' interface, built on torch's own functions.

While one stage is graded, the functions of the other stages come from here, so that a wrong module costs only its own
points. The modules import each other by bare name, as the students' modules do. A module relies
only on the interfaces of the other modules, since those may be the student's own.
"""
