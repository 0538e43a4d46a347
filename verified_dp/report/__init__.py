"""Results for people: terminal text. Nothing here computes a bound."""
