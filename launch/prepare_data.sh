#!/usr/bin/env bash
# Prepares a TFDS data set on this computer and copies it to a bucket.
#
#   launch/prepare_data.sh --dataset=cifar10 --bucket=gs://my-bucket [--data_dir=data] [--dry_run]
#
# It needs no TPU, so run it before there is one; it needs pip install -e ".[prepare]". For a large set
# run it on an ordinary VM in the region of the bucket. A run then takes
# --config.data.source=tfds:cifar10 --config.data.data_dir=gs://my-bucket/data

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
dataset='' data_dir=data
parse 'dataset= data_dir=' "$@"
[ -n "$dataset" ] || complain '--dataset is missing; it is a name of TFDS, such as cifar10.'
case $bucket in gs://?*) ;; *) complain "--bucket is '$bucket'; it looks like gs://my-bucket." ;; esac

act tfds build "$dataset" --file_format=array_record "--data_dir=$data_dir"
folder=${dataset%%[:/]*} # without config and version
act gcloud storage rsync --recursive "$data_dir/$folder" "${bucket%/}/data/$folder"
