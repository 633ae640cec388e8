// Command client puts franz-go or sarama behind the same commands as Client.java: one JSON command a
// line on standard input, one JSON answer a line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A record as the laboratory tells it.
type record struct {
	Topic     string            `json:"topic"`
	Partition *int32            `json:"partition"`
	Key       *string           `json:"key"`
	Value     *string           `json:"value"`
	Time      *int64            `json:"time"`
	Headers   map[string]string `json:"headers"`
}

// result is what became of a send: a place, or an error.
type result struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Error     string `json:"error,omitempty"`
}

// producer is one producer object of a library: a session.
type producer interface {
	// send hands a record over and answers when it is queued.
	send(record)
	// finish waits for all that is under way and tells what became of it, in the order of sending.
	finish() []result
	begin() error
	end(commit bool) error
	close()
}

// settings have the names of the Java client.
type settings map[string]string

func (s settings) millis(name string, otherwise time.Duration) time.Duration {
	if n, err := strconv.Atoi(s[name]); err == nil {
		return time.Duration(n) * time.Millisecond
	}
	return otherwise
}

func (s settings) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(s[name]); err == nil {
		return n
	}
	return otherwise
}

func (s settings) idempotent() bool {
	return s["transactional.id"] != "" || s["enable.idempotence"] != "false" && s["acks"] != "0" && s["acks"] != "1"
}

type command struct {
	Do       string   `json:"do"`
	Name     string   `json:"name"`
	Mode     string   `json:"mode"`
	Pause    int64    `json:"pause"`
	Settings settings `json:"settings"`
	Records  []record `json:"records"`
}

type answer struct {
	Results []result `json:"results,omitempty"`
	Error   string   `json:"error,omitempty"`
}

var makers = map[string]func(settings) (producer, error){"franz": newFranz, "sarama": newSarama}

func main() {
	newProducer, producers := makers[os.Args[1]], map[string]producer{}
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var told command
		said := answer{}
		err := json.Unmarshal(lines.Bytes(), &told)
		if err == nil {
			err = obey(told, newProducer, producers, &said)
		}
		if err != nil {
			said.Error = err.Error()
		}
		if err := out.Encode(said); err != nil {
			return
		}
	}
}

func obey(told command, newProducer func(settings) (producer, error), producers map[string]producer, said *answer) error {
	if told.Do == "producer" {
		made, err := newProducer(told.Settings)
		producers[told.Name] = made
		return err
	}
	p, known := producers[told.Name]
	if !known {
		return fmt.Errorf("no producer %q", told.Name)
	}
	switch told.Do {
	case "send":
		for _, r := range told.Records {
			p.send(r)
			if told.Mode == "each" {
				said.Results = append(said.Results, p.finish()...)
			}
			time.Sleep(time.Duration(told.Pause) * time.Millisecond)
		}
		if told.Mode == "batch" {
			said.Results = p.finish()
		}
	case "results":
		said.Results = p.finish()
	case "begin":
		return p.begin()
	case "commit":
		return p.end(true)
	case "abort":
		return p.end(false)
	case "close":
		p.close()
		delete(producers, told.Name)
	default:
		return fmt.Errorf("unknown command %q", told.Do)
	}
	return nil
}

func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}
