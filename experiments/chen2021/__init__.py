"""Intriguing Properties of Contrastive Losses (Chen, Luo and Li, 2021): claims and figures."""
