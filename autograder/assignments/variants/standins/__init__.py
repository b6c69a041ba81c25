"""Stand-ins: independent versions of the modules for the stages that build on them, and drivers for tests."""
