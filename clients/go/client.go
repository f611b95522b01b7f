// SPDX-License-Identifier: Apache-2.0
//
// The client: what a command is carried out by, and when it is repeated.

package holdfast

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	mathrand "math/rand"
	"os"
	"sync"
	"time"
)

const (
	defaultURL   = "holdfast://127.0.0.1:4653"
	idleMost     = 16 // connections that are kept for the next command
	backoffFirst = 20 * time.Millisecond
	backoffMost  = time.Second
)

// Options of a client. What is zero is as said.
type Options struct {
	// Timeout is how long to wait for an answer, besides what a command itself waits for; 5 s.
	Timeout time.Duration
	// RetryFor is for how long a command is repeated where that is safe; 10 s. Less than 0: never.
	RetryFor time.Duration
	// TLS is for holdfast+tls:// URLs: an authority of one's own, say.
	TLS *tls.Config
}

// Client of one server, for any number of goroutines.
type Client struct {
	options Options
	pool    *pool
}

type pool struct {
	where  place
	mutex  sync.Mutex
	idle   []*connection
	closed bool
}

// New makes a client. Without a URL it is that of HOLDFAST_URL, or else the server of this machine.
// Nothing is sent before the first command.
func New(url string, options ...Options) (*Client, error) {
	made := Options{}
	if len(options) > 0 {
		made = options[0]
	}
	if made.Timeout == 0 {
		made.Timeout = 5 * time.Second
	}
	if made.RetryFor == 0 {
		made.RetryFor = 10 * time.Second
	}
	if url == "" {
		url = os.Getenv("HOLDFAST_URL")
	}
	if url == "" {
		url = defaultURL
	}
	where, err := parsePlace(url, made.TLS)
	if err != nil {
		return nil, err
	}
	return &Client{made, &pool{where: where}}, nil
}

// NewID makes an id: 32 random hexadecimal digits.
func NewID() string {
	var bytes [16]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		panic(err) // the system has no random source
	}
	return hex.EncodeToString(bytes[:])
}

// Close closes the connections. Leases that are still held are left to their deadlines.
func (c *Client) Close() {
	c.pool.mutex.Lock()
	defer c.pool.mutex.Unlock()
	c.pool.closed = true
	for _, one := range c.pool.idle {
		one.socket.Close()
	}
	c.pool.idle = nil
}

// within is the same client on the same connections, with so long for a command in all.
func (c *Client) within(limit time.Duration) *Client {
	return &Client{Options{Timeout: limit, RetryFor: -1}, c.pool}
}

// execute carries out a command, and repeats it where that is safe: when nothing has changed, any
// command; when it is not known whether it happened, one that `again` says has an id.
func (c *Client) execute(ctx context.Context, what *command, words []string, again bool,
	wait time.Duration, read func(answer) error) error {
	start := time.Now()
	giveUp := start.Add(c.options.RetryFor)
	if wait > 0 {
		giveUp = giveUp.Add(wait)
	}
	for backoff := backoffFirst; ; backoff *= 2 {
		err := c.attempt(ctx, what, words, time.Until(start.Add(wait)), wait, read)
		if err == nil || !mayRepeat(err, again) {
			return err
		}
		if backoff > backoffMost {
			backoff = backoffMost
		}
		pause := backoff/2 + time.Duration(mathrand.Int63n(int64(backoff/2)))
		if time.Now().Add(pause).After(giveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// attempt sends a command once and reads its answer.
func (c *Client) attempt(ctx context.Context, what *command, words []string, left, wait time.Duration,
	read func(answer) error) error {
	sent := append([]string{what.name}, words...)
	timeout := c.options.Timeout
	if wait > 0 {
		if left < 0 {
			left = 0
		}
		sent = append(sent, "WAIT", milliseconds(left))
		timeout += left
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	link, err := c.pool.take(ctx)
	if err != nil {
		return err
	}
	value, err := link.exchange(ctx, sent)
	if err != nil {
		link.socket.Close()
		return unknown(err)
	}
	c.pool.put(link)
	if refused, ok := value.(*Error); ok {
		return refused
	}
	got := answer{what, value}
	if err := got.refusal(); err != nil {
		return err
	}
	return read(got)
}

func (p *pool) take(ctx context.Context) (*connection, error) {
	for {
		p.mutex.Lock()
		if p.closed {
			p.mutex.Unlock()
			return nil, unavailable(errors.New("the client is closed"))
		}
		count := len(p.idle)
		if count == 0 {
			p.mutex.Unlock()
			return dial(ctx, p.where)
		}
		link := p.idle[count-1]
		p.idle = p.idle[:count-1]
		p.mutex.Unlock()
		if link.fresh() {
			return link, nil
		}
		link.socket.Close()
	}
}

func (p *pool) put(link *connection) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed || len(p.idle) >= idleMost {
		link.socket.Close()
		return
	}
	p.idle = append(p.idle, link)
}
