"""Warm interpreter: imports a module once in a box, then forks a confined child per request.

Started by the server as the first process of a bubblewrap box:
    python -I zygote.py CONTROL_FD FILTER_FD HELPER_LIBRARY ROOT MODULE FUNCTION
The child runs MODULE.FUNCTION(3), where descriptor 3 is its channel to the server. What the module defines of these is
called before: warm_up() with everything in sight, prepare() as children will see the world. prepare_more(wish) is called
for what the server wished for when it asked for a child, once nobody asks for another. ROOT is the folder that is all the world to the children and, once it
is warm, to this process; "" leaves them the whole box. This process runs no task or
candidate code, holds no secret, and is not reachable from its children: they live in process, mount, network and
IPC namespaces of their own, under another uid where the server is root.
"""
import array  # noqa: F401: calls below import these by themselves, and then nothing is left to import from
import ctypes
import gc
import importlib
import json
import os
import resource  # noqa: F401
import select
import socket
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frames import say  # noqa: E402: the isolated interpreter does not look beside the script

MNT_DETACH = 2
PR_SET_DUMPABLE = 4
MADV_COLLAPSE = 25
LARGE_PAGE = 2 << 20
KEPT_FOLDER = b"/keep"  # of a ROOT: this process writes there, children read


class ChildBox(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("tmp_bytes", "cpu_s", "file_bytes", "open_files", "processes", "data_bytes")] + [
        ("change_uid", ctypes.c_int32), ("uid", ctypes.c_uint32),
        ("channel_fd", ctypes.c_int32), ("output_fd", ctypes.c_int32),
        ("filter", ctypes.c_void_p), ("filter_bytes", ctypes.c_uint32), ("kept_folder", ctypes.c_char_p)]


def hook(module, name):
    return getattr(module, name, lambda *_: None)


class Zygote:
    def __init__(self, control_fd, filter_fd, helper, root, module, function):
        self.control = socket.socket(fileno=control_fd)
        self.filter = os.pread(filter_fd, 1 << 16, 0)
        self.helper = ctypes.CDLL(helper, use_errno=True)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.root = root.encode()
        self.statm = os.open("/proc/self/statm", os.O_RDONLY)
        loaded = self.warm_up(module)
        self.gather_memory()
        self.entry = getattr(loaded, function)
        self.prepare_more = hook(loaded, "prepare_more")
        self.wishes = []
        self.narrow_view()
        hook(loaded, "prepare")()
        gc.collect()
        gc.freeze()  # a collection in a child must not touch, and so copy, every page
        self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        self.own = os.pidfd_open(os.getpid())
        self.children = {}  # pidfd -> (pid, status socket)
        self.poll = select.poll()
        self.poll.register(self.control, select.POLLIN)

    @staticmethod
    def warm_up(module):
        loaded = importlib.import_module(module)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)
            torch.set_num_interop_threads(1)
        hook(loaded, "warm_up")()
        return loaded

    def gather_memory(self):
        """Large pages for what was made until now: a fork copies an entry for each page, and torch alone fills a hundred
        thousand small ones. Older kernels refuse, and forks take longer there."""
        with open("/proc/self/maps") as maps:
            for line in maps:
                place, rights, _, _, _, *name = line.split()
                first, last = (int(end, 16) for end in place.split("-"))
                first, last = -(-first // LARGE_PAGE) * LARGE_PAGE, last // LARGE_PAGE * LARGE_PAGE
                if rights == "rw-p" and name in ([], ["[heap]"]) and first < last:
                    self.libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), MADV_COLLAPSE)

    def narrow_view(self):
        if self.root:
            if self.helper.bicrl_enter_root(self.root):
                sys.exit(f"cannot enter {self.root.decode()}: {os.strerror(ctypes.get_errno())}")
            return
        for folder in (b"/proc", b"/sys/devices/system/cpu"):
            if self.libc.umount2(folder, MNT_DETACH):
                sys.exit(f"cannot unmount {folder.decode()}: {os.strerror(ctypes.get_errno())}")

    def data_bytes(self):
        """Private writable memory of this process now: limits of the children count from here."""
        return int(os.pread(self.statm, 4096, 0).split()[5]) * os.sysconf("SC_PAGE_SIZE")

    def serve(self):
        self.control.send(b'{"ready": true}')
        while True:
            events = self.poll.poll(0 if self.wishes else None)
            if not events:
                self.prepare_more(self.wishes.pop())
            for fd, _ in events:
                if fd != self.control.fileno():
                    self.report(fd)
                elif not self.accept():
                    return

    def accept(self):
        message, fds, _, _ = socket.recv_fds(self.control, 65536, 3)
        if not message:
            return False
        channel, status, output = fds
        status = socket.socket(fileno=status)
        try:
            request = json.loads(message)
            pid = self.fork(request, channel, output)
            self.wishes += request["wishes"]
            pidfd = os.pidfd_open(pid)
            self.children[pidfd] = (pid, status)
            self.poll.register(pidfd, select.POLLIN)
            socket.send_fds(status, [b'{"started": true}'], [pidfd])
        except OSError as error:
            status.send(json.dumps({"error": f"fork: {error}"}).encode())
        finally:
            os.close(channel)
            os.close(output)
        return True

    def fork(self, request, channel, output):
        self.base_bytes = self.data_bytes()
        error = self.helper.bicrl_next_fork_in_new_pid_namespace()
        if error:
            raise OSError(error, "new process namespace: " + os.strerror(error))
        try:
            pid = os.fork()
            if pid == 0:
                self.child(request, channel, output)
        finally:
            error = self.helper.bicrl_back_to_own_pid_namespace(self.own)
            if error:
                os._exit(1)  # the server starts another interpreter
        return pid

    def child(self, request, channel, output):
        code = 1
        try:
            spec = ChildBox(filter=ctypes.cast(ctypes.c_char_p(self.filter), ctypes.c_void_p),
                            filter_bytes=len(self.filter), channel_fd=channel, output_fd=output)
            for name in ("tmp_bytes", "cpu_s", "file_bytes", "open_files", "processes", "change_uid", "uid"):
                setattr(spec, name, request[name])
            if request["data_bytes"]:
                spec.data_bytes = self.base_bytes + request["data_bytes"]
            if self.root:
                spec.kept_folder = KEPT_FOLDER
            step = self.helper.bicrl_enter_child_box(ctypes.byref(spec))
            error = ctypes.get_errno()
            # The interpreter's objects for descriptors that are closed now must not close their numbers again.
            for stale in [self.control] + [status for _, status in self.children.values()]:
                stale.detach()
            own = socket.socket(fileno=os.dup(3))
            if step:
                say(own, {"kind": "failed", "step": step, "error": os.strerror(error)})
                os._exit(1)
            say(own, {"kind": "ready"})
            own.close()
            entry = self.entry
            del self.filter, self.children, self.control
            entry(3)
            code = 0
        except BaseException:  # whatever it is, the child must end here and never run the parent's loop
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def report(self, pidfd):
        pid, status = self.children.pop(pidfd)
        self.poll.unregister(pidfd)
        os.close(pidfd)
        _, wait_status, usage = os.wait4(pid, 0)
        try:
            status.send(json.dumps({"wait_status": wait_status, "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1e3}).encode())
        except OSError:
            pass  # the server has given this child up
        status.close()


if __name__ == "__main__":
    for extra in sys.argv[7:]:
        sys.path.insert(0, extra)
    Zygote(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:7]).serve()
