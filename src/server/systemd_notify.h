/* SPDX-License-Identifier: Apache-2.0
 *
 * Notifies systemd, or the supervisor that set NOTIFY_SOCKET, of the service's state:
 * sd_notify(3). */
#ifndef SERVER_SYSTEMD_NOTIFY_H
#define SERVER_SYSTEMD_NOTIFY_H

/* "READY=1", "RELOADING=1", "STOPPING=1", "EXTEND_TIMEOUT_USEC=60000000". Without a supervisor, or
 * if it cannot be reached, nothing happens: a service does not stop working if none listens. */
void systemd_notify(const char *state);

#endif
