"""The compiled core: the registry, programs, the verifier and simulations as Python values."""
