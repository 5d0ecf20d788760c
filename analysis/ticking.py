"""Names long work while it lasts: on a terminal by a line that counts the seconds, elsewhere by a line every ten
seconds."""

import shutil
import sys
import threading
import time

ON_TERMINAL, ELSEWHERE = 1.0, 10.0  # seconds between two signs


class Ticking:
    """with Ticking("table3: a run (1 of 4)"): ..."""

    def __init__(self, what, to=None, clock=time.monotonic, pauses=(ON_TERMINAL, ELSEWHERE)):
        self.what, self.to, self.clock = what, to or sys.stderr, clock
        self.terminal = self.to.isatty()
        self.pause = pauses[0 if self.terminal else 1]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self):
        self.begin = self.clock()
        if self.terminal:
            self._redraw()
        else:
            print(self.what, file=self.to, flush=True)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()
        if self.terminal:
            self.to.write(f"\r\033[K{self.what}, {self._seconds()} s\n")
            self.to.flush()

    def _seconds(self):
        return int(self.clock() - self.begin)

    def _tick(self):
        while not self.done.wait(self.pause):
            if self.terminal:
                self._redraw()
            else:
                print(f"{self.what}: {self._seconds()} s", file=self.to, flush=True)

    def _redraw(self):
        line = f"{self.what}, {self._seconds()} s"
        self.to.write("\r\033[K" + line[:max(10, shutil.get_terminal_size().columns - 1)])
        self.to.flush()
