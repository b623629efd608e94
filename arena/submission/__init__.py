"""Submitting a bot: its package made and read safely, where packages are kept, and the steps by which one is admitted."""
