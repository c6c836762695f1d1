"""From times of messages to the parameters of a network, with intervals."""
