"""Stand-ins of `attention`: modules with the students' interface, built on torch's own functions.

While one stage is graded, whatever another stage grades is taken from here, so that a wrong module costs only its own
points. The modules import each other by bare name, as the students' do. Each of them expects nothing of the others
but the interface, since its neighbours may be the student's.
"""
