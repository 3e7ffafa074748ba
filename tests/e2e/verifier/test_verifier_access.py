"""A verifier runs what it is sent: beyond loopback only for callers with its token, over TLS, and refused without. Certificates
and keys are those of tests/data/access, made for 127.0.0.1 and this test alone."""
import json
import os
import subprocess
from pathlib import Path

from support import BINARY, CANDIDATES, ENVIRONMENT, SOURCE, bicrl, candidate_text, expect, folder, started_verifier

DATA = SOURCE / "tests" / "data"
CERTIFICATE, KEY, OTHER = (DATA / "access" / name for name in ("verifier.pem", "verifier.key.pem", "other.pem"))


def refused(words, *overrides, code=2):
    done = subprocess.run([BINARY, "verifier", *overrides], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    expect(done.returncode == code and "listening" not in done.stdout, "does not serve", overrides, done)
    for word in words:
        expect(word in done.stderr, f"says {word!r}", done.stderr)


def written(path, text, mode=0o600):
    Path(path).write_text(text)
    os.chmod(path, mode)
    return path


with folder() as temporary:
    token = written(f"{temporary}/token", "0123456789abcdef0123456789abcdef\n")
    server = [f"access.certificate={CERTIFICATE}", f"access.key={KEY}", f"access.token={token}"]

    # ---- Servers that must not begin.
    refused(["0.0.0.0:0", "access.certificate", "access.token"], "listen=0.0.0.0:0")
    refused(["[::]:0"], "listen=[::]:0")
    refused(["token", "is missing"], "listen=0.0.0.0:0", *server[:2])
    refused(["key", "is missing"], server[0], server[2])
    refused(["chmod 600"], *server[:2], f"access.token={written(f'{temporary}/open', 'x' * 40, 0o644)}")
    refused(["at least 32"], *server[:2], f"access.token={written(f'{temporary}/short', 'x' * 31)}")
    refused(["at least 32"], *server[:2], f"access.token={written(f'{temporary}/lines', 'x' * 40 + chr(10) + 'y' * 40)}")
    refused(["no PEM", str(token)], f"access.certificate={token}", f"access.key={KEY}", f"access.token={token}")
    refused(["/nowhere"], "access.certificate=/nowhere", f"access.key={KEY}", f"access.token={token}")

    # ---- Callers of one that serves.
    process, address = started_verifier(*server, "workers=1")
    port = address.rpartition(":")[2]
    task = {"idx": "one", "level": 1, "pytorch_code": (CANDIDATES / "tasks/affine.py").read_text(), "cuda_code": candidate_text("honest")}
    TASKS = written(f"{temporary}/tasks.json", json.dumps([task]))

    def verify(*access, address=address):
        return bicrl("verify", "--tasks", TASKS, f"verifier.addresses=[{address}]", "verifier.deadline_s=20", *access, timeout=300)

    right = [f"verifier.access.authority={CERTIFICATE}", f"verifier.access.token={token}"]
    code, out, err = verify(*right)
    expect(code == 0 and "1 correct" in out, "a caller with certificate and token is served", code, out, err)
    code, out, err = verify(*right, address=f"localhost:{port}")
    expect(code == 0, "by another name of the certificate as well", code, out, err)

    other_token = written(f"{temporary}/wrong", "0123456789abcdef0123456789abcdee")
    code, out, err = verify(right[0], f"verifier.access.token={other_token}")
    expect(code != 0 and "not this verifier's" in out + err, "another token is told", code, out, err)
    code, out, err = verify(f"verifier.access.authority={OTHER}", right[1])
    expect(code != 0 and address in out + err, "a server with another certificate is not talked to", code, out, err)
    expect("1 call in" in out + err, "and not again and again", out, err)
    code, out, err = verify()
    expect(code != 0 and f"the verifier {address} speaks TLS" in out + err and "1 call in" in out + err, "without TLS that is said, at once", code, out, err)
    code, out, err = verify(right[0])
    expect(code == 2 and "token" in err and "is missing" in err, "a certificate without a token is refused", code, out, err)
    code, out, err = verify(address="192.0.2.1:7410")
    expect(code == 2 and "192.0.2.1:7410" in err and "access.authority" in err, "programs are not sent beyond loopback in the open", code, out, err)

    code, out, err = bicrl("doctor", f"verifier.addresses=[{address}]", *right, timeout=300)
    expect(f"verifier {address}" in out and f"missing  verifier {address}" not in out, "doctor asks with the access", code, out, err)
    process.terminate()
    _, err = process.communicate(timeout=120)
    expect(process.returncode == 0, "it ends in order", process.returncode, err)
    expect("0123456789abcdef" not in err, "and its log does not hold the token", err)

print("verifiers answer who may ask")
