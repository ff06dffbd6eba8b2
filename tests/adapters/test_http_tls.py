"""TLS to a tool server: the name that was configured is the name that the certificate must carry."""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runtime.adapters.http.addresses import AddressPolicy
from runtime.adapters.http.transport import HttpRequest, Transport
from runtime.errors import HandOverFailed


@dataclass(frozen=True, slots=True)
class TlsServer:
    port: int
    certificate: Path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    write_certificate(certificate, key, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        http.socket = context.wrap_socket(http.socket, server_side=True)
        http.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is part of the play
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield TlsServer(http.server_address[1], certificate)
        http.shutdown()
        thread.join()


def write_certificate(certificate: Path, key: Path, host: str) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


@pytest.fixture
def transport(server: TlsServer) -> Iterator[Transport]:
    loopback = [str(ipaddress.ip_network("127.0.0.0/8")), "::1/128"]
    trusting = ssl.create_default_context(cafile=server.certificate)
    transport = Transport(AddressPolicy(loopback), connect_s=2, ssl_context=trusting)
    yield transport
    transport.close()


def fetched(transport: Transport, url: str) -> bytes:
    return transport.fetch(HttpRequest("GET", url, {}), time_s=5, limit_bytes=100)


def test_the_certificate_is_checked_against_the_name_and_not_the_address_connected_to(
    transport: Transport, server: TlsServer
) -> None:
    assert fetched(transport, f"https://localhost:{server.port}/") == b"ok"


def test_a_certificate_of_another_name_is_a_refusal(transport: Transport, server: TlsServer) -> None:
    with pytest.raises(HandOverFailed, match="TLS"):
        fetched(transport, f"https://127.0.0.1:{server.port}/")
