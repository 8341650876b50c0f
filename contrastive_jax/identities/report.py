"""From text to a loss, and from findings to a table."""

from contrastive_jax import losses, names

WORDS = {True: 'holds', False: 'fails', None: '-'}


def loss_of(text):
    """The loss that a text names, and its options.

    Args:
      text: 'module:function' or a name of `contrastive_jax.losses`, then options as in a call:
        'my_module:my_loss,temperature=0.1,kind=cosine'. A bare word is a string.

    Returns:
      (function, dict of options).

    Raises:
      BadInput: text of another form, or a module or function that is not there.
    """
    name, options = names.parse_call(text)
    return names.pick_or_import(losses, name, 'loss.name'), options


def table(findings):
    """The findings in lines of name, verdict and detail; those that must hold come first."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for title, must in (('must hold', True), ('reported', False)):
        lines.append(f'{title}:')
        lines += [
            f'  {finding.name:{width}}  {WORDS[finding.holds]:5}  {finding.detail}'
            for finding in findings
            if finding.must == must
        ]
    return '\n'.join(lines)
