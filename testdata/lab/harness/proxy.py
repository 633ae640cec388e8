"""A network that misbehaves on command, between one client and the broker.

Answers are held back, or the connection is closed after the broker has stored a request. Whole
connections only: no real network swallows bytes in mid-stream.
"""
import socket
import threading
import time


class Proxy:
    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(50)
        self.port = self.listener.getsockname()[1]
        self.target = None
        self.delay = 0.0        # seconds that every answer waits
        self.silent = False     # answers are held back until the connection ends
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Closes every connection; what was held back is lost."""
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()
        self.pairs = []

    def end(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)    # wakes the thread that accepts
        except OSError:
            pass
        self.listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source, sink, is_answer):
        try:
            while data := source.recv(65536):
                if is_answer:
                    if self.delay:
                        time.sleep(self.delay)
                    while self.silent:
                        time.sleep(0.02)
                        if source.fileno() < 0:
                            return
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
