// SPDX-License-Identifier: Apache-2.0
//
// The client called go-redis: plain commands, a pipeline, transactions, errors.
// goredis PORT
package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"gopkg.in/redis.v5"
)

func check(holds bool, what string, got ...interface{}) {
	if !holds {
		fmt.Fprintln(os.Stderr, what, got)
		os.Exit(1)
	}
}

func list(values ...interface{}) []interface{} {
	for i, value := range values {
		if number, ok := value.(int); ok {
			values[i] = int64(number)
		}
	}
	return values
}

// Commands that the client has no function for.
func command(words ...interface{}) *redis.Cmd {
	return redis.NewCmd(words...)
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	defer client.Close()
	event := "go-redis"

	pong, err := client.Ping().Result()
	check(err == nil && pong == "PONG", "ping", pong, err)
	opened := command("SEATS.OPEN", event, "floor", 10)
	err = client.Process(opened)
	check(err == nil && reflect.DeepEqual(opened.Val(), list(1, 10, 10)), "open", opened, err)
	none := command("LOCK.GET", event)
	check(client.Process(none) == redis.Nil, "nil", none)

	// A pipeline: all sent before the first answer is read.
	var limits []*redis.Cmd
	_, err = client.Pipelined(func(pipe *redis.Pipeline) error {
		for i := 0; i < 1000; i++ {
			limits = append(limits, command("QUOTA.LIMIT", event, i))
			pipe.Process(limits[i])
		}
		return nil
	})
	check(err == nil, "pipeline", err)
	for i, limit := range limits {
		check(reflect.DeepEqual(limit.Val(), list(1, 0, i)), "limit", i, limit)
	}

	// A transaction, with a refusal inside.
	reserve := command("SEATS.RESERVE", event, "floor", "b", "ann", 2, 4)
	refused := command("SEATS.RESERVE", event, "floor", "c", "ann", 99, 99)
	_, err = client.TxPipelined(func(pipe *redis.Pipeline) error {
		pipe.Process(reserve)
		pipe.Process(refused)
		pipe.Ping()
		return nil
	})
	check(err == nil, "transaction", err)
	held, _ := reserve.Val().([]interface{})
	check(len(held) == 4 && reflect.DeepEqual(held[:3], list(1, 8, 2)), "reserve", reserve)
	check(refused.Val().([]interface{})[1] == "INSUFFICIENT_STOCK", "refused", refused)

	// One that cannot be queued: nothing of it is carried out.
	_, err = client.TxPipelined(func(pipe *redis.Pipeline) error {
		pipe.Process(command("SEATS.RELEASE", event, "b"))
		pipe.Process(command("SEATS.RELEASE"))
		return nil
	})
	check(err != nil, "aborted", err)
	user := command("SEATS.USER", event, "ann")
	err = client.Process(user)
	check(err == nil && reflect.DeepEqual(user.Val(), list(2, 0)), "still reserved", user, err)

	err = client.Watch(func(tx *redis.Tx) error { return nil }, "key")
	check(err != nil && strings.Contains(err.Error(), "WATCH is not supported"), "watch", err)
	clients, err := client.ClientList().Result()
	check(err == nil && strings.Contains(clients, "qbuf="), "list", clients, err)
	fmt.Println("well")
}
