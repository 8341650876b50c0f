"""What legends call a loss."""

SUPERVISED = ('cross_entropy', 'multi_label')


def loss_name(text):
    """'nt_xent,temperature=0.2' as 'SimCLR, temperature 0.2'; labels are 'supervised'."""
    name, _, options = text.partition(',')
    if name in SUPERVISED:
        return 'supervised'
    return f'SimCLR, {options.replace("=", " ")}' if name == 'nt_xent' else text
