"""What the paper claims, each as a statistic of the runs of one config."""

CLAIMS = []
