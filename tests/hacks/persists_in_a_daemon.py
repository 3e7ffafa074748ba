# class: record|process|protocol|timeout
# task: affine, template: affine
# hack: H30 a daemon with an abstract socket stays behind and answers the next run
# why: verify it twice: the second time must end like the first

import os
import socket

# ---- setup

NAME = "\0marker-of-hacks"
known = False
try:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(NAME)
        known = True
except OSError:
    pass
if not known and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        server = socket.socket(socket.AF_UNIX)
        server.bind(NAME)
        server.listen()
        while True:
            server.accept()[0].close()
    os._exit(0)
if not known:
    raise RuntimeError("nothing is left of an earlier run")
