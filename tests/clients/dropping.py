# SPDX-License-Identifier: Apache-2.0
"""A proxy on loopback that loses answers: the first to each of some commands never arrives, and the
connection it should have come on is closed."""

import socket
import threading

CHUNK = 1 << 16


class Dropping:
    def __init__(self, port, names):
        self.port_behind = port
        self.names = {name.encode() for name in names}  # those whose answer is still to be lost
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.dropped = []
        self.open = set()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self.listener.close()
        with self.lock:
            for end in self.open:
                end.close()

    @property
    def url(self):
        return f"holdfast://127.0.0.1:{self.port}"

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.port_behind))
        with self.lock:
            self.open |= {client, server}
        state = {"drop": False}
        threading.Thread(target=self._answers, args=[server, client, state], daemon=True).start()
        try:
            while data := client.recv(CHUNK):
                with self.lock:
                    for name in [name for name in self.names if name in data]:
                        self.names.remove(name)
                        self.dropped.append(name.decode())
                        state["drop"] = True
                server.sendall(data)
        except OSError:
            pass
        self._close(client, server)

    def _answers(self, server, client, state):
        try:
            while data := server.recv(CHUNK):
                if state["drop"]:  # the server has carried it out by now
                    break
                client.sendall(data)
        except OSError:
            pass
        self._close(client, server)

    def _close(self, *ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
