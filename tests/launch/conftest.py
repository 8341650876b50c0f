"""A `gcloud` that plays a given sequence of states and writes down what it is asked."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each look of the watcher begins with a description of the request (of the TPU, where it is asked
# for directly) and takes the next of the scripted looks; the last one stays.
FAKE = r"""#!{python} -IS
import json, os, subprocess, sys
from pathlib import Path
here = Path(os.environ['FAKE_GCLOUD'])
words = sys.argv[1:]
line = ' '.join(words)
with (here / 'calls').open('a') as calls:
    calls.write(json.dumps(words) + '\n')

def look(advance=False):
    looks = json.loads((here / 'looks.json').read_text())
    place = here / 'place'
    at = int(place.read_text()) if place.exists() else -1
    if advance:
        at += 1
        place.write_text(str(at))
    return looks[max(0, min(at, len(looks) - 1))]

def tell(state):
    if state == 'absent':
        sys.exit("ERROR: (gcloud) NOT_FOUND: Resource 'x' was not found")
    if state == 'offline':
        sys.exit('ERROR: (gcloud) There was a problem refreshing your current auth tokens')
    print(state)

if 'queued-resources describe' in line:
    tell(look(True)[0])
elif 'tpu-vm describe' in line:
    direct = len(look()) == 2
    tell(look(direct)[0 if direct else 1])
elif 'on_worker.sh status' in line and look()[-1] != 'real':
    states = look()[-1]
    if states == 'silent':
        sys.exit(255)
    for state in states.split(', '):
        print('state: ' + state)
elif 'on_worker.sh log' in line:
    print('the last line of the log')
elif 'tpu-vm ssh' in line and look()[-1] == 'real':
    home = here / 'worker'
    home.mkdir(exist_ok=True)
    command = next(word for word in words if word.startswith('--command='))[10:]
    if 'install' in command:
        (home / 'contrastive_jax').symlink_to({root!r})
    else:
        alone = dict(os.environ, HOME=home)
        sys.exit(subprocess.call(['bash', '-c', command], cwd=home, env=alone))
elif 'delete' in line and (here / 'delete_fails').exists():
    sys.exit(1)
elif ' create ' in line and (here / 'create_fails').exists():
    sys.exit('ERROR: (gcloud) RESOURCE_EXHAUSTED: Quota limit has been exceeded')
"""


class Cloud:
    """The fake, and the scripts run against it."""

    def __init__(self, directory):
        self.directory = directory
        self.environment = {
            **os.environ,
            'PATH': f'{directory}:{os.environ["PATH"]}',
            'FAKE_GCLOUD': str(directory),
            'TMPDIR': str(directory),
        }
        self.program('gcloud', FAKE.replace('{python}', sys.executable).replace(
            '{root!r}', repr(str(ROOT))
        ))  # fmt: skip

    def program(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def start(self, script, *flags, looks=()):
        """The running process of launch/<script>; `looks` as FAKE plays them."""
        (self.directory / 'looks.json').write_text(json.dumps(looks))
        return subprocess.Popen(
            [ROOT / 'launch' / script, *flags], cwd=self.directory, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, script, *flags, looks=()):
        """The same, finished."""
        process = self.start(script, *flags, looks=looks)
        said, complaint = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, said, complaint)

    def calls(self):
        """What gcloud was asked, as lists of words."""
        path = self.directory / 'calls'
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def deeds(self):
        """What gcloud was asked to do, as one word each; questions are left out."""
        words = {
            'on_worker.sh install': 'install', 'on_worker.sh start': 'start',
            'on_worker.sh log': 'log', ' create ': 'create', ' delete ': 'delete', ' scp ': 'copy',
        }  # fmt: skip
        lines = [' '.join(call) for call in self.calls()]
        found = [next((words[key] for key in words if key in line), None) for line in lines]
        return [deed for deed in found if deed]


@pytest.fixture
def cloud(tmp_path):
    return Cloud(tmp_path)
