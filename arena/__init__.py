"""Arena: bots compete at trick-taking card games."""

__version__ = "0.1.0"
