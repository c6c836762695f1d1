"""What every other package may use: errors, output, environment variables, memory."""
