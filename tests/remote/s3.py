"""A small client of S3, for tests to fill buckets with: requests signed by AWS Signature Version 4, and nothing of the
code that is tested.

    s3 = S3(server.url, server.access_key, server.secret_key)
    s3.put_folder("private", packed, "packed/train")
    s3.list("private", "packed/")  # {"packed/train/dataset.json": 1234, ...}
"""

import datetime
import hashlib
import hmac
import http.client
import os
import urllib.parse
import xml.etree.ElementTree
from pathlib import Path

EMPTY = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"
BLOCK = 1 << 20


class Refused(Exception):
    """An answer other than the one that was expected."""

    def __init__(self, method, path, answer):
        super().__init__(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        self.answer = answer


class Answer:
    """Status, headers (names in lower case) and body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {name.lower(): value for name, value in headers}, body


def encoded(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def canonical_query(pairs):
    return "&".join(sorted(f"{encoded(name)}={encoded(value)}" for name, value in pairs))


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signer:
    """Signs the headers of requests."""

    def __init__(self, access_key, secret_key, region="us-east-1", token=""):
        self.access_key, self.secret_key, self.region, self.token = access_key, secret_key, region, token

    def scope(self, now):
        return f"{now:%Y%m%d}/{self.region}/s3/aws4_request"

    def signature(self, now, canonical):
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        key = f"AWS4{self.secret_key}".encode()
        for part in self.scope(now).split("/"):
            key = mac(key, part)
        return mac(key, f"AWS4-HMAC-SHA256\n{now:%Y%m%dT%H%M%SZ}\n{self.scope(now)}\n{hashed}").hex()

    @staticmethod
    def canonical(method, path, query, signed, payload):
        """`signed`: (name in lower case, value), sorted."""
        lines = "".join(f"{name}:{value}\n" for name, value in signed)
        names = ";".join(name for name, _ in signed)
        return f"{method}\n{encoded(path, '/')}\n{canonical_query(query)}\n{lines}\n{names}\n{payload}"

    def headers(self, method, host, path, query=(), headers=None, payload=EMPTY, now=None):
        """`headers`, and those that make it a signed request. Path and query are decoded ones."""
        now = now or datetime.datetime.now(datetime.timezone.utc)
        found = dict(headers or {}) | {"x-amz-date": f"{now:%Y%m%dT%H%M%SZ}", "x-amz-content-sha256": payload}
        if self.token:
            found["x-amz-security-token"] = self.token
        signed = sorted((name.lower(), value) for name, value in [*found.items(), ("host", host)])
        signature = self.signature(now, self.canonical(method, path, query, signed, payload))
        credential = f"Credential={self.access_key}/{self.scope(now)}"
        names = ";".join(name for name, _ in signed)
        found["authorization"] = f"AWS4-HMAC-SHA256 {credential},SignedHeaders={names},Signature={signature}"
        return found

    def sign_again(self, head, request):
        """Signs a head that was changed on its way (fault_proxy.py)."""
        host = head.get("Host")
        pairs = [part.partition("=") for part in request.query.split("&") if part]
        query = [(urllib.parse.unquote(name), urllib.parse.unquote(value)) for name, _, value in pairs]
        ranged = {"range": head.get("Range")} if head.get("Range") else {}
        payload = head.get("x-amz-content-sha256", UNSIGNED)
        head.drop("Authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "Range")
        for name, value in self.headers(request.method, host, request.path, query, ranged, payload).items():
            head.set(name, value)


class S3:
    """One endpoint, as one user sees it: with no key, as everybody does. One thread at a time."""

    def __init__(self, endpoint, access_key="", secret_key="", region="us-east-1", token="", timeout=120):
        self.host, self.timeout = urllib.parse.urlsplit(endpoint).netloc, timeout
        self.signer = Signer(access_key, secret_key, region, token) if access_key else None
        self.connection = None

    def request(self, method, bucket="", key="", query=(), headers=None, body=b"", expected=(200, 204, 206)):
        """The answer, whose status must be an expected one (`()`: any). A body may be an open file."""
        path = f"/{bucket}/{key}" if key else f"/{bucket}"
        sent = dict(headers or {})
        payload = hashlib.sha256(body).hexdigest() if isinstance(body, bytes) else UNSIGNED
        if self.signer:
            sent = self.signer.headers(method, self.host, path, query, sent, payload)
        size = len(body) if isinstance(body, bytes) else os.fstat(body.fileno()).st_size
        if size or method in ("PUT", "POST"):
            sent["Content-Length"] = str(size)
        target = encoded(path, "/") + (f"?{canonical_query(query)}" if query else "")
        answer = self.answer(method, target, sent, body)
        if expected and answer.status not in expected:
            raise Refused(method, path, answer)
        return answer

    def answer(self, method, target, headers, body):
        """Tries once more where the server has closed a connection that was kept."""
        for again in (False, True):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(self.host, timeout=self.timeout, blocksize=BLOCK)
                self.connection.request(method, target, body or None, headers)
                told = self.connection.getresponse()
                return Answer(told.status, told.getheaders(), told.read())
            except (http.client.HTTPException, OSError):
                self.close()
                if again:
                    raise
                if not isinstance(body, bytes):
                    body.seek(0)
        raise AssertionError

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def make_bucket(self, bucket):
        self.request("PUT", bucket, expected=(200, 409))

    def put(self, bucket, key, data, headers=None):
        """Bytes, or the file at a path."""
        if isinstance(data, bytes):
            return self.request("PUT", bucket, key, headers=headers, body=data)
        with open(data, "rb") as file:
            return self.request("PUT", bucket, key, headers=headers, body=file)

    def put_folder(self, bucket, folder, prefix=""):
        """All files below a folder, by their paths in it; returns the keys."""
        folder, keys = Path(folder), []
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            keys.append("/".join(filter(None, [prefix.strip("/"), path.relative_to(folder).as_posix()])))
            self.put(bucket, keys[-1], path)
        return keys

    def get(self, bucket, key, range=None):
        """The bytes of an object, or of (first, last) of it."""
        headers = {"range": f"bytes={range[0]}-{range[1]}"} if range else {}
        return self.request("GET", bucket, key, headers=headers).body

    def head(self, bucket, key):
        return self.request("HEAD", bucket, key).headers

    def delete(self, bucket, key):
        self.request("DELETE", bucket, key)

    def list(self, bucket, prefix="", page=1000):
        """key -> size of all below a prefix, asked for page by page."""
        found, token = {}, None
        while True:
            query = [("list-type", "2"), ("max-keys", str(page)), ("prefix", prefix)]
            query += [("continuation-token", token)] if token else []
            document = xml.etree.ElementTree.fromstring(self.request("GET", bucket, query=query).body)
            for one in document.findall("{*}Contents"):
                found[one.findtext("{*}Key")] = int(one.findtext("{*}Size"))
            token = document.findtext("{*}NextContinuationToken")
            if document.findtext("{*}IsTruncated") != "true":
                return found
            if not token:
                raise AssertionError("a list that goes on says not where")
