# shellcheck shell=bash disable=SC2034
# What every script here takes where no flag says otherwise: edit it once, or give flags.

name=contrastive    # of the TPU, and of the queued resource that asks for it
project=            # empty: that of `gcloud config get project`
zone=us-west4-a     # one where you have quota
type=v5litepod-16   # generation and chips: `gcloud compute tpus accelerator-types list --zone=...`
version=            # the software of the VMs; empty: Google's for JAX on this type
capacity=spot       # spot (cheapest, may be taken away), on_demand, or reserved (yours by contract)
request=queued      # queued (wait in line for a TPU) or direct (have one now, or an error)
bucket=             # such as gs://my-bucket
