"""What holds, for all sizes."""
