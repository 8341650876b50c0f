"""From text to a loss, and from findings to a table."""

from contrastive_jax import losses, names

# The two halves of the table: its title, and the words for True, False and None.
MUST = ('must hold:', {True: 'holds', False: 'fails', None: 'not tested'})
REPORTED = ('worth knowing, need not hold:', {True: 'yes', False: 'no', None: '-'})


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
    """The findings in lines of name, verdict and detail; those that must hold come first.

    A check that must hold and does not is followed by what it means; the last line counts them.
    """
    width = max(len(finding.name) for finding in findings)
    lines = []
    for must, (title, words) in ((True, MUST), (False, REPORTED)):
        lines.append(title)
        detail = None
        for finding in findings:
            if finding.must != must:
                continue
            same = finding.holds is False and finding.detail == detail
            detail = finding.detail
            shown = 'the same' if same else detail
            lines.append(f'  {finding.name:{width}}  {words[finding.holds]:10}  {shown}')
            if must and finding.holds is False and not same:
                lines.append(f'  {"":{width}}  {"":10}  meant: {finding.meaning}')
    verdicts = [finding.holds for finding in findings if finding.must]
    counts = (f'{word} {verdicts.count(v)}' for v, word in MUST[1].items() if v in verdicts)
    return '\n'.join([*lines, f'of {len(verdicts)} that must hold: {", ".join(counts)}'])
