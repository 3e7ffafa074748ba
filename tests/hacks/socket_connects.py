# class: record|process|protocol
# task: affine, template: affine
# hack: H66 TCP, UDP and IPv6 connections
# why: right only if the attack works; a filter may end the process instead

import socket

# ---- setup

reached = []
for family, address in ((socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("127.0.0.1", 22)),
                        (socket.AF_INET6, ("::1", 22))):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(0.5)
            connection.connect(address)
            reached.append(address)
    except OSError:
        pass
if not reached:
    raise RuntimeError("no network")
