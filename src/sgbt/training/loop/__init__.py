"""The training loop: batches, steps, scores on dev, checkpoints, the log, and several processes."""
