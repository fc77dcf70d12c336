"""Real servers for tests and benches, each at a free port of this machine, in a folder of its own that keeps its log:

    with Seaweed(folder) as server:      # S3 by SeaweedFS: `private` needs a key, `public` can be read by everybody
    with Nginx(folder) as server:        # HTTP and HTTPS; server.root is what it serves
    with RcloneS3(folder) as server:     # S3 by rclone: folders of server.root are buckets
    with RcloneHttp(folder) as server:   # HTTP by rclone
    with Proxy(folder, server.address) as server:   # the fault proxy as a process of its own

A server ends with the thread that started it, however that ends (PR_SET_PDEATHSIG): start them in the main thread.
What runs them is installed by scripts/setup.
"""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

from s3 import S3, Refused

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STARTS = 3  # tries, where another program takes a port that was free
PATIENCE = 120  # seconds until a server answers
LOG_SHOWN = 3000  # characters


class Missing(Exception):
    """A program that is not installed; the text is why a test skips."""


class Failed(Exception):
    """A server that did not start."""


def program(name):
    """Where a program is: beside this Python, in .venv or in the PATH, with the system's own folders for daemons."""
    places = [Path(sys.executable).parent, ROOT / ".venv/bin"]
    path = os.pathsep.join([*map(str, places), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    found = shutil.which(name, path=path)
    if found is None:
        raise Missing(f"no {name}: run scripts/setup --all")
    return found


def free_ports(count, host):
    """Ports that nobody listens at now."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((host, 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


class Server:
    """A process that serves. Subclasses say how it is called and when it is ready."""

    ports_needed = 1
    farewell = 5  # seconds it has to end by itself
    kept_from_it = ("AWS_", "RCLONE_", "S3_", "WEED_")  # the variables that begin so
    variables = {}

    def __init__(self, folder, host="127.0.0.1"):
        self.folder, self.host = Path(folder), host
        self.root = self.folder / "root"
        self.log = self.folder / "log.txt"
        self.process, self.ports = None, []

    @property
    def port(self):
        return self.ports[0]

    @property
    def address(self):
        return (self.host, self.port)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def prepare(self):
        """Writes what it reads; the ports are known."""

    def command(self):
        raise NotImplementedError

    def ready(self):
        """Whether it answers. May raise OSError as long as it does not."""
        return self.status("/") is not None

    def status(self, path):
        connection = http.client.HTTPConnection(*self.address, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def __enter__(self):
        self.root.mkdir(parents=True, exist_ok=True)
        for last in (False,) * (STARTS - 1) + (True,):
            self.ports = free_ports(self.ports_needed, self.host)
            self.prepare()
            self.spawn()
            try:
                self.wait_until_ready()
                return self
            except Failed:
                self.stop()
                if last:
                    raise
            except BaseException:
                self.stop()
                raise
        raise AssertionError

    def __exit__(self, *_):
        self.stop()

    def spawn(self):
        # setpriv, not preexec_fn: Python may have threads here, and their locks would be copied.
        command = [program("setpriv"), "--pdeathsig", "KILL", "--", *map(str, self.command())]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(self.kept_from_it)}
        environment |= {"HOME": str(self.folder), **self.variables}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)  # fmt: skip

    def wait_until_ready(self):
        end = time.monotonic() + PATIENCE
        why = "it does not answer"
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failed(self.words(f"ended with {self.process.returncode}"))
            try:
                if self.ready():
                    return
            except (OSError, http.client.HTTPException, Refused) as error:
                why = str(error)
            time.sleep(0.05)
        raise Failed(self.words(f"not ready in {PATIENCE} s: {why}"))

    def words(self, what):
        said = self.log.read_text(errors="replace")[-LOG_SHOWN:] if self.log.exists() else ""
        return f"{type(self).__name__} {what}\n--- end of {self.log}\n{said}"

    def stop(self):
        if self.process is None:
            return
        if self.farewell:
            self.process.terminate()
        try:
            self.process.wait(self.farewell)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class S3Server(Server):
    """What servers of S3 have in common: the keys of their user."""

    access_key, secret_key, region = "test-access-key", "test/secret+key=1234567890", "us-east-1"

    def client(self, endpoint=None, timeout=120):
        """A client with all rights."""
        return S3(endpoint or self.url, self.access_key, self.secret_key, self.region, timeout=timeout)

    def everybody(self, endpoint=None):
        """A client without a key."""
        return S3(endpoint or self.url)

    def environment(self, endpoint=None):
        """The variables by which programs find it, and no others: not the user's own keys."""
        found = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return found | {
            "AWS_ENDPOINT_URL_S3": endpoint or self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }


class Seaweed(S3Server):
    """SeaweedFS: master, volumes, filer and gateway of S3 in one process. `reader` has a key that may only read
    `private`."""

    ports_needed = 8
    farewell = 0  # it takes its time, to keep what nobody needs any more
    variables = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}  # files it makes for each bucket; by default seven
    buckets = ("private", "public")
    reader_key, reader_secret = "reader-access-key", "reader-secret-key"

    def prepare(self):
        everything = ["Admin", "Read", "Write", "List", "Tagging"]
        users = [
            ("tests", self.access_key, self.secret_key, everything),
            ("reader", self.reader_key, self.reader_secret, ["Read:private", "List:private"]),
        ]
        identities = [
            {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions}
            for name, key, secret, actions in users
        ]
        identities.append({"name": "anonymous", "actions": ["Read:public", "List:public"]})
        (self.folder / "s3.json").write_text(json.dumps({"identities": identities}))

    def command(self):
        s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = self.ports
        options = {
            "dir": self.root, "ip": self.host, "ip.bind": self.host,
            "master.port": master, "master.port.grpc": master_grpc, "master.volumeSizeLimitMB": 128,
            "master.telemetry": "false",
            "volume.port": volume, "volume.port.grpc": volume_grpc, "volume.max": 200, "volume.preStopSeconds": 0,
            "filer": "true", "filer.port": filer, "filer.port.grpc": filer_grpc,
            "filer.localSocket": self.folder / "filer.sock",
            "s3": "true", "s3.port": s3, "s3.port.grpc": s3_grpc, "s3.port.iceberg": 0, "s3.port.lance": 0,
            "s3.config": self.folder / "s3.json", "s3.localSocket": self.folder / "s3.sock",
        }  # fmt: skip
        return [program("weed"), "server", *(f"-{name}={value}" for name, value in options.items())]

    def stop(self):
        """It listens at sockets in /tmp, too, which stay."""
        super().stop()
        for path in Path("/tmp").glob("seaweedfs-*.sock"):
            if path.stem.rpartition("-")[2] in map(str, self.ports):
                path.unlink(missing_ok=True)

    def ready(self):
        """The buckets are there, and take what is put into them."""
        client = self.client(timeout=10)  # as it starts, some requests are never answered
        for bucket in self.buckets:
            client.make_bucket(bucket)
            client.put(bucket, "is-it-ready", b"yes")
            client.delete(bucket, "is-it-ready")
        client.close()
        return True


class RcloneS3(S3Server):
    """rclone as a server of S3 over a folder, whose folders are the buckets."""

    def prepare(self):
        (self.root / "private").mkdir(exist_ok=True)

    def command(self):
        return [program("rclone"), "serve", "s3", self.root, "--addr", f"{self.host}:{self.port}", "--config",
                self.folder / "rclone.conf", "--auth-key", f"{self.access_key},{self.secret_key}",
                "--dir-cache-time", "0s"]  # fmt: skip

    def ready(self):
        self.client().request("GET")
        return True


class RcloneHttp(Server):
    """rclone as a server of HTTP over a folder."""

    def command(self):
        return [program("rclone"), "serve", "http", self.root, "--addr", f"{self.host}:{self.port}", "--config",
                self.folder / "rclone.conf", "--dir-cache-time", "0s"]  # fmt: skip


NGINX = """
daemon off;
master_process off;  # workers would outlive a master that is killed
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 2048; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/temporary/body;
  proxy_temp_path {folder}/temporary/proxy;
  fastcgi_temp_path {folder}/temporary/fastcgi;
  uwsgi_temp_path {folder}/temporary/uwsgi;
  scgi_temp_path {folder}/temporary/scgi;
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  ssl_session_cache shared:tests:1m;
  server {{
    listen 127.0.0.1:{http};
    listen 127.0.0.1:{https} ssl http2;
    ssl_certificate {folder}/localhost.crt;
    ssl_certificate_key {folder}/localhost.key;
    root {root};
  }}
  server {{
    listen 127.0.0.1:{wrong} ssl;
    ssl_certificate {folder}/elsewhere.crt;
    ssl_certificate_key {folder}/elsewhere.key;
    root {root};
  }}
}}
"""


class Nginx(Server):
    """nginx over `root`. `certificate` is what a client must trust for `https`; `wrong_https` shows one of another host."""

    ports_needed = 3

    @property
    def https(self):
        return f"https://localhost:{self.ports[1]}"

    @property
    def wrong_https(self):
        return f"https://localhost:{self.ports[2]}"

    @property
    def certificate(self):
        return self.folder / "localhost.crt"

    @property
    def wrong_certificate(self):
        return self.folder / "elsewhere.crt"

    def prepare(self):
        (self.folder / "temporary").mkdir(exist_ok=True)
        for host in ("localhost", "elsewhere"):
            if not (self.folder / f"{host}.crt").exists():
                make_certificate(self.folder, host)
        http, https, wrong = self.ports
        text = NGINX.format(folder=self.folder, root=self.root, http=http, https=https, wrong=wrong)
        (self.folder / "nginx.conf").write_text(text)

    def command(self):
        return [program("nginx"), "-e", self.folder / "error.log", "-p", self.folder, "-c", self.folder / "nginx.conf"]

    def ready(self):
        trusting = ssl.create_default_context(cafile=self.certificate)
        with socket.create_connection(("127.0.0.1", self.ports[1]), 10) as plain:
            trusting.wrap_socket(plain, server_hostname="localhost").close()
        return super().ready()


def make_certificate(folder, host):
    """HOST.crt and HOST.key, which signs itself; for `localhost` also for 127.0.0.1."""
    names = f"subjectAltName=DNS:{host}" + (",IP:127.0.0.1" if host == "localhost" else "")
    command = [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", f"/CN={host}", "-addext", names, "-keyout", Path(folder) / f"{host}.key",
               "-out", Path(folder) / f"{host}.crt"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)


class Proxy(Server):
    """The fault proxy as a program, for benches: `options` are its own."""

    def __init__(self, folder, server, *options):
        super().__init__(folder)
        self.server, self.options = server, options

    def command(self):
        host, port = self.server
        return [sys.executable, HERE / "fault_proxy.py", f"{host}:{port}", "--port", self.port, *self.options]

    def ready(self):
        return self.status("/__faults__/counters") == 200
