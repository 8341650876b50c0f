"""What legends call a loss."""

SUPERVISED = ('cross_entropy', 'multi_label')


def loss_name(text):
    """'nt_xent,temperature=0.2' as 'SimCLR, temperature 0.2'; labels are 'supervised'."""
    name, _, options = text.partition(',')
    if name in SUPERVISED:
        return 'supervised'
    if name == 'nt_xent':
        return ', '.join(filter(None, ('SimCLR', options.replace('=', ' '))))
    return text
