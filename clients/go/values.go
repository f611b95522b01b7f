// SPDX-License-Identifier: Apache-2.0
//
// Between the values of a program and the words of the protocol: arguments, and replies by their
// shape.

package holdfast

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const noWait time.Duration = -1

// Page is a page of a list. Only an empty cursor says that it was the last.
type Page[T any] struct {
	Cursor string
	Items  []T
}

// Every calls visit with each item of a list, page by page, until one of them gives an error.
func Every[T any](ctx context.Context, page func(ctx context.Context, after string) (Page[T], error),
	visit func(T) error) error {
	for cursor := ""; ; {
		got, err := page(ctx, cursor)
		if err != nil {
			return err
		}
		for _, item := range got.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if cursor = got.Cursor; cursor == "" {
			return nil
		}
	}
}

type command struct{ name, shape, nilCode, figuresCode string }

// An answer on the wire: int64, string, nil, []any or an *Error.
type answer struct {
	command *command
	value   any
}

// field is a value of a reply: its name, and where it goes (*int64, *string or *[]byte).
type field struct {
	name string
	into any
}

type fields []field

func milliseconds(length time.Duration) string {
	return strconv.FormatInt(length.Milliseconds(), 10) + "ms"
}

func number(value int64) string { return strconv.FormatInt(value, 10) }

func flag(words []string, keyword string, given bool) []string {
	if given {
		return append(words, keyword)
	}
	return words
}

// refusal gives the error that an answer stands for, or nil.
func (a answer) refusal() error {
	if a.value == nil && a.command.nilCode != "" {
		return &Error{Code: a.command.nilCode, Message: a.command.name}
	}
	list, _ := a.value.([]any)
	if len(list) != 3 || list[0] != int64(0) {
		return nil
	}
	code, _ := list[1].(string)
	message, _ := list[2].(string)
	if _, known := codes[code]; known {
		return &Error{Code: code, Message: message}
	}
	return nil
}

func (a answer) number(into *int64) error { return store(a.value, into) }

func (a answer) read(into fields) error {
	list, ok := a.value.([]any)
	if !ok {
		return a.misread()
	}
	if a.command.shape == "fields" {
		return into.named(list)
	}
	if a.command.shape == "lead" {
		if len(list) == 0 {
			return a.misread()
		}
		lead, _ := list[0].(int64)
		list = list[1:]
		if lead <= 0 {
			return a.figures(list, into)
		}
	}
	return into.inOrder(list)
}

// figures is the refusal that has values in place of a code.
func (a answer) figures(list []any, into fields) error {
	refused := &Error{Code: a.command.figuresCode, Message: a.command.name, Figures: map[string]int64{}}
	for i, one := range list {
		if value, ok := one.(int64); ok && i < len(into) {
			refused.Figures[into[i].name] = value
		}
	}
	return refused
}

func (a answer) misread() error {
	return unknown(fmt.Errorf("%s was answered by %T", a.command.name, a.value))
}

func (f fields) inOrder(list []any) error {
	for i, value := range list {
		if i < len(f) { // a newer server may tell more
			if err := store(value, f[i].into); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f fields) named(list []any) error {
	for i := 0; i+1 < len(list); i += 2 {
		for _, one := range f {
			if one.name == list[i] {
				if err := store(list[i+1], one.into); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func store(value any, into any) error {
	switch place := into.(type) {
	case *int64:
		if number, ok := value.(int64); ok {
			*place = number
			return nil
		}
	case *string:
		if text, ok := value.(string); ok {
			*place = text
			return nil
		}
	case *[]byte:
		if text, ok := value.(string); ok {
			*place = []byte(text)
			return nil
		}
	}
	return unknown(fmt.Errorf("%T is not what the reply should have", value))
}

func readNames(a answer, page *Page[string]) error {
	return eachItem(a, &page.Cursor, func(value any) error {
		var name string
		err := store(value, &name)
		page.Items = append(page.Items, name)
		return err
	})
}

func readPage[T any](a answer, page *Page[T], of func(*T) fields) error {
	return eachItem(a, &page.Cursor, func(value any) error {
		list, _ := value.([]any)
		var item T
		err := of(&item).named(list)
		page.Items = append(page.Items, item)
		return err
	})
}

func eachItem(a answer, cursor *string, take func(any) error) error {
	list, _ := a.value.([]any)
	if len(list) == 0 {
		return a.misread()
	}
	if err := store(list[0], cursor); err != nil {
		return err
	}
	for _, value := range list[1:] {
		if err := take(value); err != nil {
			return err
		}
	}
	return nil
}

func readPairs[T any](a answer, into *[]T, of func(*T) fields) error {
	list, ok := a.value.([]any)
	if !ok {
		return a.misread()
	}
	for i := 0; i+1 < len(list); i += 2 {
		var item T
		if err := of(&item).inOrder(list[i : i+2]); err != nil {
			return err
		}
		*into = append(*into, item)
	}
	return nil
}
