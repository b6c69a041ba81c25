"""Stand-ins: modules with the students' interface, for the stages that build on what others write.

Nothing in them is copied from the solution: students get them.
"""
