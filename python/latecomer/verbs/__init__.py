"""The verbs of the `latecomer` command, one file each."""
