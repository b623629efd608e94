"""Leaderboards: live Elo, final ratings, standings, and how they are shown."""
