"""What an entrant hands in: config.yaml, discovery."""
