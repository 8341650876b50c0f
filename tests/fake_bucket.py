"""An imitation of Google Cloud Storage over HTTP: buckets in memory, in a thread of the test.

It speaks as much of the JSON API as gcsfs, TensorStore and google-cloud-storage use of it, and asks
neither for credentials nor for checksums.
"""

import base64
import hashlib
import importlib.util
import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

TIME = '2026-01-01T00:00:00.000Z'
MAX_RESULTS = 3  # few, so that whoever lists must ask for the next page


class FakeBuckets:
    """Buckets that live as long as the block `with FakeBuckets() as buckets`.

    Attributes:
      objects: {bucket: {name: (bytes, generation)}}; a test may read and change it.
      refuse: a function of (method, bucket, name of the object or None) to the HTTP status with
        which to refuse a request, or None.
      requests: (method, path) of every request.
    """

    def __init__(self):
        self.objects, self.uploads, self.requests = {}, {}, []
        self.refuse = lambda method, bucket, name: None
        self.lock = threading.RLock()
        self._numbers = itertools.count(1)

    def __enter__(self):
        if importlib.util.find_spec('gcsfs') is None:  # not imported: it reads the environment then
            pytest.skip('needs gcsfs: pip install -e ".[test]"')
        handler = type('Handler', (_Handler,), {'buckets': self})
        self._server = _Server(('127.0.0.1', 0), handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self):
        """The variables that send every client here, without looking for credentials."""
        return {
            'STORAGE_EMULATOR_HOST': self.url,  # gcsfs, google-cloud-storage
            'TENSORSTORE_GCS_HTTP_URL': self.url,
            'GOOGLE_AUTH_TOKEN_FOR_TESTING': 'none',  # TensorStore
            'NO_GCE_CHECK': 'true',  # gcsfs
        }

    def make(self, bucket):
        """Makes an empty bucket and returns its objects as {name: (bytes, generation)}."""
        return self.objects.setdefault(bucket, {})

    def names(self, bucket, prefix=''):
        """The sorted names of the objects that begin with a prefix."""
        with self.lock:
            return sorted(name for name in self.objects[bucket] if name.startswith(prefix))

    def read(self, bucket, name):
        """The bytes of an object."""
        with self.lock:
            return self.objects[bucket][name][0]

    def write(self, bucket, name, content):
        """Writes an object; returns what the API says of it."""
        with self.lock:
            self.objects[bucket][name] = (bytes(content), next(self._numbers))
            return self.described(bucket, name)

    def described(self, bucket, name):
        content, generation = self.objects[bucket][name]
        return {
            'kind': 'storage#object',
            'id': f'{bucket}/{name}/{generation}',
            'bucket': bucket,
            'name': name,
            'generation': str(generation),
            'metageneration': '1',
            'size': str(len(content)),
            'contentType': 'application/octet-stream',
            'storageClass': 'STANDARD',
            'md5Hash': base64.b64encode(hashlib.md5(content).digest()).decode(),
            'timeCreated': TIME,
            'updated': TIME,
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # clients connect many times at once


class _Refused(Exception):
    """What becomes an HTTP status."""

    def __init__(self, status):
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request; `buckets` is the FakeBuckets that it belongs to."""

    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except ConnectionError:  # the other side was killed
            self.close_connection = True

    def do_GET(self):
        self.answer()

    do_POST = do_PUT = do_DELETE = do_GET

    def answer(self):
        self.body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        parts = urlsplit(self.path)
        self.options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        path = parts.path.removeprefix('/upload').removeprefix('/download')
        found = re.fullmatch(r'/storage/v1/b/([^/]+)(?:/o(?:/([^/]+)(?:/(.+))?)?)?', path)
        try:
            with self.buckets.lock:
                self.buckets.requests.append((self.command, self.path))
                if found is None:
                    raise _Refused(400)
                bucket, name, rest = (unquote(part) if part else part for part in found.groups())
                self.dispatch(parts.path, bucket, name or self.options.get('name'), rest)
        except _Refused as refused:
            message = {'error': {'code': refused.status, 'message': f'refused: {self.path}'}}
            self.reply(message, refused.status)
        self.send()  # without the lock: the other side may be slow

    def dispatch(self, path, bucket, name, rest):
        if path.startswith('/upload') and self.options.get('uploadType') == 'multipart':
            head, self.body = self.two_parts()
            name = json.loads(head)['name']
        if status := self.buckets.refuse(self.command, bucket, name):
            raise _Refused(status)
        if bucket not in self.buckets.objects:
            raise _Refused(404)
        if path.startswith('/upload'):
            self.upload(bucket, name)
        elif rest:
            self.move(bucket, name, rest)
        elif name:
            self.of_object(bucket, name)
        elif path.endswith('/o'):
            self.list(bucket)
        else:
            self.reply({'kind': 'storage#bucket', 'name': bucket, 'id': bucket})

    def of_object(self, bucket, name):
        if name not in self.buckets.objects[bucket]:
            self.check_generation(0)
            raise _Refused(404)
        content, generation = self.buckets.objects[bucket][name]
        self.check_generation(generation)
        if self.command == 'DELETE':
            del self.buckets.objects[bucket][name]
            self.reply(status=204)
        elif self.options.get('alt') != 'media':
            self.reply(self.buckets.described(bucket, name))
        else:
            self.media(content, generation)

    def media(self, content, generation):
        headers, status, size = {'x-goog-generation': generation}, 200, len(content)
        if asked := re.fullmatch(r'bytes=(\d*)-(\d*)', self.headers.get('Range', '')):
            first, last = asked.groups()
            start = int(first) if first else max(size - int(last), 0)
            end = min(int(last) + 1, size) if first and last else size
            if start >= size:
                raise _Refused(416)
            headers['Content-Range'] = f'bytes {start}-{end - 1}/{size}'
            content, status = content[start:end], 206
        self.reply(content, status, headers)

    def check_generation(self, generation):
        wanted = self.options.get('ifGenerationMatch')
        if wanted is not None and int(wanted) != generation:
            raise _Refused(412)
        unwanted = self.options.get('ifGenerationNotMatch')
        if unwanted is not None and int(unwanted) == generation:
            raise _Refused(304 if self.command == 'GET' else 412)

    def upload(self, bucket, name):
        if upload := self.options.get('upload_id'):
            return self.resume(upload)
        self.check_generation(self.buckets.objects[bucket].get(name, (b'', 0))[1])
        if self.options['uploadType'] == 'resumable':
            upload = f'upload{next(self.buckets._numbers)}'
            self.buckets.uploads[upload] = (bucket, name, bytearray())
            place = f'{self.buckets.url}{self.path}&upload_id={upload}'
            return self.reply({}, headers={'Location': place})
        return self.reply(self.buckets.write(bucket, name, self.body))

    def resume(self, upload):
        bucket, name, content = self.buckets.uploads[upload]
        content += self.body
        if self.headers['Content-Range'].endswith('/*'):
            self.reply(status=308, headers={'Range': f'bytes=0-{len(content) - 1}'})
        else:
            self.reply(self.buckets.write(bucket, name, content))

    def two_parts(self):
        """The JSON and the bytes of an upload in two parts."""
        boundary = self.headers['Content-Type'].partition('boundary=')[2].strip('"').encode()
        _, head, rest = self.body.split(b'--' + boundary, 2)
        content = rest[: rest.rindex(b'--' + boundary)].split(b'\n\n', 1)[1]
        return head.split(b'\n\n', 1)[1], content.removesuffix(b'\n')

    def move(self, bucket, name, rest):
        """One object within its bucket, by moveTo."""
        target = re.fullmatch(r'moveTo/o/(.+)', rest)
        if target is None:
            raise _Refused(400)
        if name not in self.buckets.objects[bucket]:
            raise _Refused(404)
        content, _ = self.buckets.objects[bucket].pop(name)
        self.reply(self.buckets.write(bucket, target[1], content))

    def list(self, bucket):
        prefix, delimiter = self.options.get('prefix', ''), self.options.get('delimiter')
        found = {}  # in the order of names: an object, or a prefix that several share
        for name in self.buckets.names(bucket, prefix):
            head, cut, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, '', '')
            found[prefix + head + cut if cut else name] = bool(cut)
        start = max(self.options.get('startOffset', ''), self.options.get('pageToken', ''))
        names = [name for name in found if name >= start]
        asked = int(self.options.get('maxResults', MAX_RESULTS))
        page, more = names[: min(asked, MAX_RESULTS)], names[min(asked, MAX_RESULTS) :]
        answer = {'kind': 'storage#objects'}
        if items := [self.buckets.described(bucket, name) for name in page if not found[name]]:
            answer['items'] = items
        if prefixes := [name for name in page if found[name]]:
            answer['prefixes'] = prefixes
        if more:
            answer['nextPageToken'] = more[0]
        self.reply(answer)

    def reply(self, content=b'', status=200, headers=()):
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
            headers = {**dict(headers), 'Content-Type': 'application/json; charset=UTF-8'}
        self.answered = content, status, dict(headers)

    def send(self):
        content, status, headers = self.answered
        self.send_response(status)
        if status not in (204, 304):  # which have no body
            headers['Content-Length'] = len(content)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content if 'Content-Length' in headers else b'')
