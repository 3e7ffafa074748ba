# class: record|process|protocol
# task: affine, template: affine
# hack: H66 vsock, netlink, packet and algorithm sockets
# why: right only if the attack works; a filter may end the process instead

import socket

# ---- setup

reached = []
for family, kind in ((socket.AF_VSOCK, socket.SOCK_STREAM), (socket.AF_PACKET, socket.SOCK_RAW),
                     (socket.AF_INET, socket.SOCK_RAW), (38, socket.SOCK_SEQPACKET)):
    try:
        socket.socket(family, kind).close()
        reached.append(family)
    except OSError:
        pass
if not reached:
    raise RuntimeError("no such socket")
