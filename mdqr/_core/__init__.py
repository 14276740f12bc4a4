"""The base of every function of arrays: array_likes, promotion, indices."""
