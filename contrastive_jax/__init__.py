"""contrastive_jax: what a contrastive loss does to a representation."""
