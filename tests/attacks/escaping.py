"""Attacks that leave the worker: files, processes, the network, signals, privileges, things that outlive it.

Where a success would harm the machine that runs the tests, the harmless twin is tried: signal 0 asks only whether a
signal would be allowed, a mount of nothing on nothing only whether mounting would.
"""

from tests.attacks.attack import Attack, pe

ATTACKS = [
    Attack(
        40,
        "tamper with submissions and the gradebook",
        pe("""
            OTHER = SUBMISSIONS + "/other/transformer/pe.py"
            def database():
                import sqlite3
                try:
                    return sqlite3.connect(GRADEBOOK).execute("create table t (x)")
                except sqlite3.OperationalError as error:
                    raise OSError(errno.EACCES, str(error))
            for path in (OTHER, GRADEBOOK, CANARY):
                attempt("write", lambda: open(path, "w"))
                attempt("append", lambda: open(path, "ab"))
                attempt("truncate", lambda: os.truncate(path, 0))
                attempt("delete", lambda: os.unlink(path))
                attempt("rename", lambda: os.rename(path, path + "-"))
                attempt("replace", lambda: os.replace(path, OTHER))
                attempt("link", lambda: os.link(path, path + "-"))
                attempt("symbolic link", lambda: os.symlink(path, path + "-"))
                attempt("mode", lambda: os.chmod(path, 0))
                attempt("owner", lambda: os.chown(path, 0, 0))
                attempt("times", lambda: os.utime(path, (0, 0)))
                attempt("attributes", lambda: os.setxattr(path, "user.points", b"110"))
                attempt("attributes of a link", lambda: os.setxattr(path, "user.x", b"1", follow_symlinks=False))
            attempt("file", lambda: open(SUBMISSIONS + "/new.py", "w"))
            attempt("folder", lambda: os.mkdir(SUBMISSIONS + "/new"))
            attempt("pipe", lambda: os.mkfifo(SUBMISSIONS + "/new"))
            attempt("device", lambda: os.mknod(SUBMISSIONS + "/new"))
            attempt("delete a folder", lambda: os.rmdir(SUBMISSIONS + "/empty"))
            attempt("rename a folder", lambda: os.rename(SUBMISSIONS + "/other", SUBMISSIONS + "/mine"))
            attempt("database", database)
            attempt("torch.save", lambda: torch.save(torch.zeros(1), CANARY))
            attempt("tofile", lambda: torch.zeros(1).numpy().tofile(CANARY))
            attempt("grader", lambda: open(ROOT + "/autograder/diagnosis/compare_tensors.py", "a"))
            attempt("solution", lambda: open(ROOT + "/solutions/transformer/pe.py", "a"))
            attempt("library", lambda: open(torch.__file__, "a"))
            attempt("byte code", lambda: open(os.path.dirname(torch.__file__) + "/__pycache__/" + MARK, "w"))
        """),
    ),
    Attack(
        41,
        "leave a daemon",
        pe("""
            def daemon():
                if (child := os.fork()) == 0:
                    os.setsid()
                    libc.sleep(5)
                    libc._exit(0)
                return child
            attempt("daemon", daemon)
            attempt("daemon of the C library", lambda: system("daemon", 1, 1))
            attempt("session", os.setsid)
            attempt("group", lambda: os.setpgid(0, os.getppid()))
            attempt("live on after the parent", lambda: system("prctl", 1, 0, 0, 0, 0))
            attempt("become a subreaper", lambda: system("prctl", 36, 1, 0, 0, 0))
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            attempt("thread", threading.Thread(target=time.sleep, args=(60,)).start)
        """),
    ),
    Attack(
        42,
        "execute a shell",
        pe("""
            import subprocess
            def shell():
                if (status := os.system("exit 0")) != 0:
                    raise Nothing(f"status {status}")
                return status
            def by_memory():
                number = os.memfd_create("x")
                os.write(number, b"#!/bin/sh\\n")
                os.execve(number, ["x"], {})
            attempt("os.system", shell)
            attempt("popen", lambda: os.popen("echo shell").read() or nothing())
            attempt("subprocess", lambda: subprocess.run(["/bin/sh", "-c", "exit 0"]))
            attempt("execv", lambda: os.execv("/bin/true", ["true"]))
            attempt("execve of a descriptor", by_memory)
            attempt("execveat", lambda: call(281 if ON_ARM else 322, -100, 0, 0, 0, 0))
            attempt("posix_spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
            attempt("fork, then exec", lambda: os.fork() or os.execv("/bin/true", ["true"]))
        """),
    ),
    Attack(
        43,
        "network",
        pe("""
            def dial(family, kind, address, protocol=0):
                connection = socket.socket(family, kind, protocol)
                connection.connect(address)
                return connection.send(b"SMUGGLED")
            def listen(family, address):
                server = socket.socket(family, socket.SOCK_STREAM)
                server.bind(address)
                server.listen()
                return server
            def send_only(family, address):
                return socket.socket(family, socket.SOCK_DGRAM).sendto(b"SMUGGLED", address)
            def resolve():
                try:
                    return socket.getaddrinfo("example.com", 80)
                except socket.gaierror as error:
                    raise Nothing(str(error))
            attempt("TCP", lambda: dial(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", TCP)))
            attempt("TCP 6", lambda: dial(socket.AF_INET6, socket.SOCK_STREAM, ("::1", TCP)))
            attempt("TCP, urllib", lambda: __import__("urllib.request").request.urlopen(f"http://127.0.0.1:{TCP}"))
            attempt("multipath TCP", lambda: dial(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", TCP), 262))
            attempt("UDP", lambda: dial(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", UDP)))
            attempt("UDP without a connection", lambda: send_only(socket.AF_INET, ("127.0.0.1", UDP)))
            attempt("a name", resolve)
            attempt("unix", lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, UNIX))
            attempt("abstract unix", lambda: dial(socket.AF_UNIX, socket.SOCK_STREAM, ABSTRACT))
            attempt("unix datagram", lambda: send_only(socket.AF_UNIX, UNIX))
            attempt("listen on TCP", lambda: listen(socket.AF_INET, ("127.0.0.1", 0)))
            attempt("listen on unix", lambda: listen(socket.AF_UNIX, "\\0" + MARK))
            attempt("pair", socket.socketpair)
            attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
            attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
            attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
            attempt("crypto", lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET))
            attempt("virtual machine", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
            attempt("io_uring", lambda: call(425, 8, ctypes.addressof(ctypes.create_string_buffer(120))))
            attempt("sendmmsg", lambda: call(269 if ON_ARM else 307, channel().fileno(), 0, 0, 0))
        """),
    ),
    Attack(
        44,
        "kill the parent",
        pe("""
            import resource
            PARENT = os.getppid()
            attempt("kill", lambda: os.kill(PARENT, signal.SIGKILL))
            for process in (GRADER, PARENT, 1, -1):
                attempt(f"ask {process}", lambda: os.kill(process, 0))
            attempt("group", lambda: os.killpg(os.getpgid(PARENT), 0))
            attempt("kill of the C library", lambda: system("kill", PARENT, signal.SIGTERM))
            attempt("tgkill", lambda: call(131 if ON_ARM else 234, PARENT, PARENT, signal.SIGTERM))
            attempt("tkill", lambda: call(130 if ON_ARM else 200, PARENT, signal.SIGTERM))
            attempt("sigqueue", lambda: system("sigqueue", PARENT, signal.SIGTERM, 0))
            attempt("pidfd", lambda: call(424, call(434, PARENT, 0), signal.SIGTERM, 0, 0))
            for process in (GRADER, PARENT):
                attempt("CPU", lambda: resource.prlimit(process, resource.RLIMIT_CPU, (1, 1)))
                attempt("files", lambda: resource.prlimit(process, resource.RLIMIT_NOFILE, (0, 0)))
                attempt("niceness", lambda: os.setpriority(os.PRIO_PROCESS, process, 19))
                attempt("processors", lambda: os.sched_setaffinity(process, {0}))
                attempt("scheduler", lambda: os.sched_setscheduler(process, os.SCHED_IDLE, os.sched_param(0)))
            def by_owner():
                import fcntl
                fcntl.fcntl(channel().fileno(), fcntl.F_SETOWN, PARENT)
                fcntl.fcntl(channel().fileno(), 10, signal.SIGTERM)  # F_SETSIG
                flags = fcntl.fcntl(channel().fileno(), fcntl.F_GETFL)
                fcntl.fcntl(channel().fileno(), fcntl.F_SETFL, flags | os.O_ASYNC)
                return "set"
            attempt("signals of a descriptor", by_owner)
            attempt("terminal", lambda: os.tcsetpgrp(1, PARENT))
        """),
    ),
    Attack(
        45,
        "regain privileges",
        pe("""
            import resource
            for name in ("setuid", "setgid", "seteuid", "setegid"):
                attempt(name, lambda: getattr(os, name)(0))
            attempt("setresuid", lambda: os.setresuid(0, 0, 0))
            attempt("setresgid", lambda: os.setresgid(0, 0, 0))
            attempt("setgroups", lambda: os.setgroups([0]))
            for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_CPU):
                attempt("limit", lambda: resource.setrlimit(limit, (-1, -1)))
            higher = (ctypes.c_ulong * 2)(2**40, 2**40)
            attempt("limit of the C library", lambda: system("setrlimit", resource.RLIMIT_AS, higher))
            for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000):
                attempt(f"unshare {flag:#x}", lambda: system("unshare", flag))
            attempt("setns", lambda: system("setns", 0, 0))
            attempt("chroot", lambda: os.chroot("/"))
            attempt("mount", lambda: system("mount", 0, 0, 0, 0, 0))
            attempt("umount", lambda: system("umount2", 0, 0))
            attempt("pivot_root", lambda: call(41 if ON_ARM else 155, 0, 0))
            attempt("capset", lambda: call(91 if ON_ARM else 126, 0, 0))
            attempt("bpf", lambda: call(280 if ON_ARM else 321, 0, 0, 0))
            attempt("perf_event_open", lambda: call(241 if ON_ARM else 298, 0, 0, 0, 0, 0))
            attempt("userfaultfd", lambda: call(282 if ON_ARM else 323, 0))
            attempt("io_uring_setup", lambda: call(425, 0, 0))
            attempt("open_tree", lambda: call(428, -100, 0, 0))
            attempt("fsopen", lambda: call(430, 0, 0))
            attempt("open_by_handle_at", lambda: call(265 if ON_ARM else 304, 0, 0, 0))
            attempt("personality", lambda: system("personality", ctypes.c_ulong(0x0040000)))
            attempt("seccomp", lambda: call(277 if ON_ARM else 317, 0, 0, 0))
            attempt("another landlock", lambda: call(444, 0, 0, 1))
            attempt("keep capabilities", lambda: system("prctl", 8, 1, 0, 0, 0))
            attempt("dumpable", lambda: system("prctl", 4, 1, 0, 0, 0))
            attempt("any tracer", lambda: system("prctl", 0x59616D61, ctypes.c_ulong(-1), 0, 0, 0))
            attempt("sethostname", lambda: socket.sethostname(socket.gethostname()))
            attempt("module", lambda: call(105 if ON_ARM else 175, 0, 0, 0))
            attempt("reboot", lambda: call(142 if ON_ARM else 169, 0, 0, 0, 0))
            attempt("the clock", lambda: call(112 if ON_ARM else 227, 0, 0))
            attempt("the 32-bit interface", lambda: call(0x40000000 | 57) if not ON_ARM else nothing())
            attempt("sudo", lambda: os.execv("/usr/bin/sudo", ["sudo", "id"]))
        """),
    ),
    Attack(
        46,
        "leave something behind",
        pe("""
            import tempfile
            def shared():
                from multiprocessing.shared_memory import SharedMemory
                return SharedMemory(MARK, create=True, size=8).name
            shared_folders = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue")
            for folder in (*shared_folders, os.path.expanduser("~"), ".", TEMPORARY):
                attempt(folder, lambda: open(f"{folder}/{MARK}", "w"))
                attempt("folder in " + folder, lambda: os.mkdir(f"{folder}/{MARK}"))
            attempt("temporary file", lambda: tempfile.mkstemp(prefix=MARK))
            attempt("file without a name", lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR))
            attempt("shared memory", shared)
            attempt("shm_open", lambda: system("shm_open", MARK.encode(), os.O_CREAT | os.O_RDWR, 0o600))
            attempt("mq_open", lambda: system("mq_open", b"/" + MARK.encode(), os.O_CREAT | os.O_RDWR, 0o600, 0))
            attempt("sem_open", lambda: system("sem_open", MARK.encode(), os.O_CREAT, 0o600, 0) or nothing())
            attempt("SysV memory", lambda: system("shmget", 54, 4096, 0o1600))
            attempt("SysV semaphore", lambda: system("semget", 54, 1, 0o1600))
            attempt("SysV queue", lambda: system("msgget", 54, 0o1600))
            attempt("memfd", lambda: os.write(os.memfd_create(MARK), b"x" * 100))
            attempt("memfd_secret", lambda: call(447, 0))
            attempt("key", lambda: call(217 if ON_ARM else 248, 0, 0, 0, 0, -4))
            attempt("keyctl", lambda: call(219 if ON_ARM else 250, 0, -4, 0, 0, 0))
            attempt("torch.multiprocessing", lambda: torch.zeros(8).share_memory_().sum())
            attempt("growing what is printed", lambda: os.ftruncate(1, 2**30))
            attempt("the printed file, as a descriptor", lambda: open("/proc/self/fd/1", "w"))
            attempt("inotify", lambda: system("inotify_init"))
            attempt("eventfd", lambda: os.eventfd(0))
            attempt("pipe", os.pipe)
        """),
    ),
]
