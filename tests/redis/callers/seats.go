// SPDX-License-Identifier: Apache-2.0
//
// A booking service as teams write it in Go, around three scripts that it reads from files. It knows
// nothing of Holdfast: it calls with the keys and arguments that its own scripts had, falls back to
// EVAL where Redis forgot a script, seeds zones by SET, and reads their counters by SCAN and GET.
//
//	seats LUA_FOLDER plain|tagged ADDRESS
//
// On a cluster the address is that of the event's master: this client cannot read the map of slots of
// Redis 7.
//
// Reads requests, one JSON array of strings a line, and answers each with one line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/ioutil"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/redis.v5"
)

type script struct{ source, sha string }

// The service: its client, the names of its keys, its scripts.
type service struct {
	redis   *redis.Client
	tagged  bool
	scripts map[string]*script
}

type answer map[string]interface{}

// ---- keys

func (s *service) zoneKey(event, zone string) string {
	if s.tagged {
		return "zone:availability:{" + event + "}:" + zone
	}
	return "zone:availability:" + zone
}

func (s *service) userKey(event, user string) string {
	if s.tagged {
		return "user:reservations:{" + event + "}:" + user
	}
	return "user:reservations:" + user + ":" + event
}

func (s *service) bookingKey(event, booking string) string {
	if s.tagged {
		return "reservation:{" + event + "}:" + booking
	}
	return "reservation:" + booking
}

// ---- scripts

func (s *service) load(folder string) error {
	for _, name := range []string{"reserve_seats", "release_seats", "confirm_booking"} {
		source, err := ioutil.ReadFile(filepath.Join(folder, name+".lua"))
		if err != nil {
			return err
		}
		sha, err := s.redis.ScriptLoad(string(source)).Result()
		if err != nil {
			return fmt.Errorf("SCRIPT LOAD %s: %v", name, err)
		}
		s.scripts[name] = &script{string(source), sha}
	}
	return nil
}

func (s *service) run(name string, keys []string, args ...interface{}) ([]interface{}, error) {
	one := s.scripts[name]
	reply, err := s.redis.EvalSha(one.sha, keys, args...).Result()
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		reply, err = s.redis.Eval(one.source, keys, args...).Result()
	}
	if err != nil {
		return nil, err
	}
	values, ok := reply.([]interface{})
	if !ok || len(values) < 3 {
		return nil, fmt.Errorf("unexpected reply of %s: %v", name, reply)
	}
	return values, nil
}

// A refusal has 0, a code and a message.
func refusal(values []interface{}) (answer, error) {
	success, ok := values[0].(int64)
	if !ok {
		return nil, fmt.Errorf("not a number in front: %v", values)
	}
	if success == 1 {
		return nil, nil
	}
	code, isCode := values[1].(string)
	message, isMessage := values[2].(string)
	if !isCode || !isMessage {
		return nil, fmt.Errorf("no code and message: %v", values)
	}
	return answer{"ok": false, "code": code, "message": message}, nil
}

func number(value interface{}) (int64, error) {
	if found, ok := value.(int64); ok {
		return found, nil
	}
	return 0, fmt.Errorf("not a number: %v", value)
}

func text(value interface{}) (string, error) {
	if found, ok := value.(string); ok {
		return found, nil
	}
	return "", fmt.Errorf("not a string: %v", value)
}

// ---- what the service does

// event zone booking user quantity max_per_user ttl_seconds
func (s *service) reserve(words []string) (answer, error) {
	event, zone, booking, user := words[0], words[1], words[2], words[3]
	quantity, _ := strconv.Atoi(words[4])
	max, _ := strconv.Atoi(words[5])
	ttl, _ := strconv.Atoi(words[6])
	values, err := s.run("reserve_seats",
		[]string{s.zoneKey(event, zone), s.userKey(event, user), s.bookingKey(event, booking)},
		quantity, max, user, booking, zone, event, "show-1", "49.50", ttl)
	if err != nil {
		return nil, err
	}
	if refused, err := refusal(values); refused != nil || err != nil {
		return refused, err
	}
	remaining, err := number(values[1])
	if err != nil {
		return nil, err
	}
	reserved, err := number(values[2])
	return answer{"ok": true, "remaining": remaining, "user_reserved": reserved}, err
}

// event zone booking user, whose keys they are; with "bare" behind it without arguments
func (s *service) cancel(words []string) (answer, error) {
	event, zone, booking, user := words[0], words[1], words[2], words[3]
	args := []interface{}{booking, user}
	if len(words) > 4 && words[4] == "bare" {
		args = nil
	}
	values, err := s.run("release_seats",
		[]string{s.zoneKey(event, zone), s.userKey(event, user), s.bookingKey(event, booking)}, args...)
	if err != nil {
		return nil, err
	}
	if refused, err := refusal(values); refused != nil || err != nil {
		return refused, err
	}
	status, err := text(values[1])
	if err != nil {
		return nil, err
	}
	available, err := number(values[2])
	if err != nil {
		return nil, err
	}
	if len(values) < 4 {
		return nil, fmt.Errorf("too short: %v", values)
	}
	reserved, err := number(values[3])
	return answer{"ok": true, "status": status, "available": available, "user_reserved": reserved}, err
}

// event booking user payment code; with "bare" in place of the user with the record's key alone
func (s *service) confirm(words []string) (answer, error) {
	event, booking, user := words[0], words[1], words[2]
	keys := []string{s.bookingKey(event, booking), s.userKey(event, user)}
	args := []interface{}{booking, user, words[3], words[4]}
	if user == "bare" {
		keys, args = keys[:1], nil
	}
	values, err := s.run("confirm_booking", keys, args...)
	if err != nil {
		return nil, err
	}
	if refused, err := refusal(values); refused != nil || err != nil {
		return refused, err
	}
	status, err := text(values[1])
	if err != nil {
		return nil, err
	}
	code, err := text(values[2])
	return answer{"ok": true, "status": status, "code": code}, err
}

// event zone seats
func (s *service) seed(words []string) (answer, error) {
	return answer{"ok": true}, s.redis.Set(s.zoneKey(words[0], words[1]), words[2], 0).Err()
}

// The worker that copies the counters of all zones into the database.
func (s *service) inventory(words []string) (answer, error) {
	zones := map[string]int64{}
	var cursor uint64
	for {
		keys, next, err := s.redis.Scan(cursor, "zone:availability:*", 100).Result()
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if zones[key], err = s.redis.Get(key).Int64(); err != nil {
				return nil, err
			}
		}
		if cursor = next; cursor == 0 {
			return answer{"ok": true, "zones": zones}, nil
		}
	}
}

// event zone users ttl_seconds: so many users at once, each for one seat; how many got one
func (s *service) rush(words []string) (answer, error) {
	users, _ := strconv.Atoi(words[2])
	outcomes := make(chan string, users)
	for i := 0; i < users; i++ {
		go func(name string) {
			got, err := s.reserve([]string{words[0], words[1], "b-" + name, "u-" + name, "1", "4", words[3]})
			switch {
			case err != nil:
				outcomes <- err.Error()
			case got["ok"] == true:
				outcomes <- "reserved"
			default:
				outcomes <- got["code"].(string)
			}
		}(strconv.Itoa(i))
	}
	counts := map[string]int{}
	for i := 0; i < users; i++ {
		counts[<-outcomes]++
	}
	return answer{"ok": true, "outcomes": counts}, nil
}

// event booking
func (s *service) look(words []string) (answer, error) {
	record, err := s.redis.HGetAll(s.bookingKey(words[0], words[1])).Result()
	if err != nil {
		return nil, err
	}
	ttl, err := s.redis.PTTL(s.bookingKey(words[0], words[1])).Result()
	return answer{"ok": true, "record": record, "ttl_ms": ttl.Nanoseconds() / 1000000}, err
}

// Redis forgets the scripts, as after a restart.
func (s *service) forget(words []string) (answer, error) {
	return answer{"ok": true}, s.redis.ScriptFlush().Err()
}

// ---- requests

func (s *service) request(line []byte) (answer, error) {
	var words []string
	if err := json.Unmarshal(line, &words); err != nil {
		return nil, err
	}
	operations := map[string]func([]string) (answer, error){
		"reserve": s.reserve, "cancel": s.cancel, "confirm": s.confirm, "seed": s.seed,
		"inventory": s.inventory, "rush": s.rush, "look": s.look, "forget": s.forget}
	operation, found := operations[words[0]]
	if !found {
		return nil, errors.New("no such operation: " + words[0])
	}
	return operation(words[1:])
}

func main() {
	s := &service{
		redis:   redis.NewClient(&redis.Options{Addr: os.Args[3], PoolSize: 32}),
		tagged:  os.Args[2] == "tagged",
		scripts: map[string]*script{},
	}
	if err := s.load(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		result, err := s.request(lines.Bytes())
		if err != nil {
			result = answer{"error": err.Error()}
		}
		line, _ := json.Marshal(result)
		fmt.Println(string(line))
	}
}
