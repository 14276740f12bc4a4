"""What every function knows of arrays: array_likes, promotion, indices."""
