// SPDX-License-Identifier: Apache-2.0
//
// One connection to a server: RESP2 on a socket, a command at a time.

package holdfast

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	defaultPort = "4653"
	textMost    = 64 << 20 // bytes in one text of an answer
	depthMost   = 8        // lists within lists
)

// What Redis calls by another name.
var redisNames = map[string]string{"NOAUTH": "UNAUTHORIZED", "NOPERM": "FORBIDDEN"}

type connection struct {
	socket net.Conn // with TLS around it, if there is
	plain  net.Conn
	reader *bufio.Reader
}

// place is where a server is, and how to sign in.
type place struct {
	address string
	login   []string // the words of AUTH
	tls     *tls.Config
}

func parsePlace(text string, config *tls.Config) (place, error) {
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "holdfast" && parsed.Scheme != "holdfast+tls") ||
		parsed.Hostname() == "" {
		return place{}, fmt.Errorf("a server's URL is holdfast://[user:password@|token@]host[:port], " +
			"or holdfast+tls://")
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	where := place{address: net.JoinHostPort(parsed.Hostname(), port)}
	if user := parsed.User; user != nil {
		where.login = []string{"AUTH", user.Username()}
		if password, given := user.Password(); given {
			where.login = append(where.login, password)
		}
	}
	if parsed.Scheme == "holdfast+tls" {
		where.tls = &tls.Config{}
		if config != nil {
			where.tls = config.Clone()
		}
		if where.tls.ServerName == "" {
			where.tls.ServerName = parsed.Hostname()
		}
	}
	return where, nil
}

func dial(ctx context.Context, where place) (*connection, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "tcp", where.address)
	if err != nil {
		return nil, unavailable(err)
	}
	plain := socket
	if where.tls != nil {
		secure := tls.Client(socket, where.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			socket.Close()
			return nil, unavailable(err)
		}
		socket = secure
	}
	made := &connection{socket, plain, bufio.NewReader(socket)}
	if where.login != nil {
		if err := made.signIn(ctx, where.login); err != nil {
			socket.Close()
			return nil, err
		}
	}
	return made, nil
}

func (c *connection) signIn(ctx context.Context, login []string) error {
	value, err := c.exchange(ctx, login)
	if err != nil {
		return unavailable(err)
	}
	if refused, ok := value.(*Error); ok {
		return refused
	}
	return nil
}

// exchange sends a command and reads its answer. With an error the connection is of no more use.
func (c *connection) exchange(ctx context.Context, words []string) (any, error) {
	deadline, _ := ctx.Deadline()
	if err := c.socket.SetDeadline(deadline); err != nil {
		return nil, err
	}
	// A context that is cancelled ends the wait for the answer. What watches it has ended when this
	// returns: it must not touch the connection while the next command uses it.
	done, watched := make(chan struct{}), make(chan struct{})
	defer func() {
		close(done)
		<-watched
	}()
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			c.socket.SetDeadline(time.Unix(1, 0))
		case <-done:
		}
	}()
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c.socket, request.String()); err != nil {
		return nil, err
	}
	return c.read(0)
}

// fresh says whether nothing has happened on an idle connection: neither an end nor an answer.
func (c *connection) fresh() bool {
	raw, ok := c.plain.(syscall.Conn)
	if !ok || c.reader.Buffered() > 0 || c.plain.SetDeadline(time.Time{}) != nil {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	var found error
	var one [1]byte
	err = control.Read(func(fd uintptr) bool {
		_, _, found = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true // whatever it is: nobody waits for more
	})
	return err == nil && (found == syscall.EAGAIN || found == syscall.EWOULDBLOCK)
}

func (c *connection) read(depth int) (any, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" || depth > depthMost {
		return nil, fmt.Errorf("not RESP2: %q", line)
	}
	rest := line[1:]
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return errorReply(rest), nil
	}
	count, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("not RESP2: %q", line)
	}
	switch {
	case line[0] == ':':
		return count, nil
	case count < 0:
		return nil, nil
	case line[0] == '$' && count <= textMost:
		text := make([]byte, count+2)
		_, err := io.ReadFull(c.reader, text)
		return string(text[:count]), err
	case line[0] == '*':
		return c.list(count, depth)
	}
	return nil, fmt.Errorf("not RESP2: %q", line)
}

func (c *connection) list(count int64, depth int) (any, error) {
	values := []any{}
	for ; count > 0; count-- {
		value, err := c.read(depth + 1)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func errorReply(text string) *Error {
	word, message, _ := strings.Cut(text, " ")
	if name, ok := redisNames[word]; ok {
		word = name
	}
	if word == "TIMEOUT" { // of the engine or the ledger: it may have happened
		return &Error{Code: ErrOutcomeUnknown.Code, Message: message}
	}
	return &Error{Code: word, Message: message}
}
