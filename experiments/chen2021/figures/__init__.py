"""Figures of the paper that a line for each setting cannot show: rows to a picture."""

from experiments.chen2021.figures import (
    colour,
    digit_on_image,
    local_features,
    losses,
    multidigits,
    projections,
    randbit,
    saturation,
    temperature_weight,
)

# Name of a config -> (rows of results.csv, path of the PNG) -> None.
DRAWINGS = {
    'cifar10_losses': losses.draw_cifar10,
    'colour': colour.draw,
    'colour_cifar10_laptop': colour.draw,
    'colour_laptop': colour.draw,
    'digit_on_image': digit_on_image.draw,
    'digit_on_image_ablation': digit_on_image.draw_ablation,
    'digit_on_image_ablation_laptop': digit_on_image.draw_ablation,
    'digit_on_image_laptop': digit_on_image.draw,
    'local_features_laptop': local_features.draw_agreement,
    'imagenet_losses': losses.draw_imagenet,
    'losses_laptop': losses.draw_laptop,
    'multidigits_number': multidigits.draw_numbers,
    'multidigits_number_laptop': multidigits.draw_numbers,
    'multidigits_size': multidigits.draw_sizes,
    'multidigits_size_laptop': multidigits.draw_sizes,
    'projections': projections.draw,
    'projections_laptop': projections.draw,
    'randbit_losses_laptop': randbit.draw_methods,
    'randbit_temperatures_laptop': randbit.draw_temperatures,
    'saturation': saturation.draw,
    'saturation_laptop': saturation.draw,
    'temperature_weight': temperature_weight.draw,
    'temperature_weight_laptop': temperature_weight.draw,
}
