# class: record|process|protocol
# task: affine, template: affine
# hack: H66 every abstract and path socket that /proc/net/unix names is tried
# why: right only if the attack works; a filter may end the process instead

import socket

# ---- setup

reached = []
try:
    names = [line.split()[7] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7]
except OSError:
    names = []
for name in names + ["@/tmp/.X11-unix/X0", "/run/dbus/system_bus_socket", "/var/run/docker.sock"]:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(name.replace("@", "\0", 1))
            reached.append(name)
    except OSError:
        pass
if not reached:
    raise RuntimeError("no socket answers")
