"""What students hand in: found and read by name within limits, and put together with stand-ins for a stage."""
