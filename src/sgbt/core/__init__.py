"""What every other package stands on: errors, files and rows, locks, shares with intervals, the registry of names."""
