"""TODO-room."""
