"""Bots as players: one interface, whatever process or machine they run in."""
