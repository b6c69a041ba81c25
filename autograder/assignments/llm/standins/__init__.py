"""Stand-ins: modules with the students' interface, for stages that build on other stages.

Nothing in them is copied from the solution, since students receive them.
"""
