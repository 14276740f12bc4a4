"""From ends of paths to solutions: clusters, multiplicities, sets, certificates."""
