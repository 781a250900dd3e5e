"""φ: text → unit vectors (METHOD §0), each unique string encoded once and kept."""
