package vm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"fibchurn/results"
)

// guestStream is what a guest sends for n runs.
func guestStream(t testing.TB, n int) []byte {
	t.Helper()
	var out []byte
	send := func(m *message) {
		payload, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = appendFrame(out, payload)
	}
	send(&message{Guest: messageStart, Release: "6.1"})
	for i := range n {
		var line bytes.Buffer
		run := &results.Run{Schema: results.Schema, Time: time.Unix(0, 0), Command: "fake", Cell: "c", Run: i + 1, Spec: []byte("{}")}
		if err := results.NewEncoder(&line).Encode(run); err != nil {
			t.Fatal(err)
		}
		out = appendFrame(out, bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	}
	send(&message{Guest: messageEnd, Runs: n})
	return out
}

// readAll returns the numbers of the runs, how many messages there were, and what
// ended the reading.
func readAll(stream []byte) (runs []int, messages int, err error) {
	in := newFrameReader(bytes.NewReader(stream))
	for {
		f, err := in.next()
		if err != nil {
			return runs, messages, err
		}
		if f.run != nil {
			runs = append(runs, f.run.Run)
		} else {
			messages++
		}
	}
}

func TestFramesWhole(t *testing.T) {
	runs, messages, err := readAll(guestStream(t, 3))
	if !errors.Is(err, io.EOF) || messages != 2 || fmt.Sprint(runs) != "[1 2 3]" {
		t.Errorf("got runs %v, %d messages, %v", runs, messages, err)
	}
}

// A guest that dies at any byte leaves whole lines, and it is known whether one was
// torn.
func TestFramesTorn(t *testing.T) {
	stream := guestStream(t, 3)
	for cut := range stream {
		runs, messages, err := readAll(stream[:cut])
		lines := bytes.Count(stream[:cut], []byte("\n"))
		if len(runs)+messages != lines {
			t.Fatalf("cut at %d: %d runs and %d messages of %d lines", cut, len(runs), messages, lines)
		}
		whole := cut == 0 || stream[cut-1] == '\n'
		if want := map[bool]error{true: io.EOF, false: errTorn}[whole]; !errors.Is(err, want) {
			t.Fatalf("cut at %d: got %v, want %v", cut, err, want)
		}
	}
}

// No single changed, lost or doubled byte passes for a figure.
func TestFramesGarbled(t *testing.T) {
	stream := guestStream(t, 1)
	first := bytes.IndexByte(stream, '\n') + 1
	last := first + bytes.IndexByte(stream[first:], '\n')
	for i := first; i < last; i++ {
		changed := bytes.Clone(stream)
		changed[i] ^= 1
		lost := append(bytes.Clone(stream[:i]), stream[i+1:]...)
		doubled := append(bytes.Clone(stream[:i+1]), stream[i:]...)
		for how, garbled := range map[string][]byte{"changed": changed, "lost": lost, "doubled": doubled} {
			runs, _, err := readAll(garbled)
			if len(runs) > 0 || err == nil || errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
				t.Fatalf("byte %d %s: got runs %v, %v", i, how, runs, err)
			}
		}
	}
}

// A terminal's line end does no harm.
func TestFramesCarriageReturn(t *testing.T) {
	runs, _, err := readAll(bytes.ReplaceAll(guestStream(t, 2), []byte("\n"), []byte("\r\n")))
	if len(runs) != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("got %v, %v", runs, err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(guestStream(f, 2))
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte("x\n"))
	f.Add(appendFrame(nil, []byte(`{"schema":1}{"schema":1}`)))
	f.Add(appendFrame(nil, []byte(`{"schema":99,"run":"x"}`)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		runs, messages, err := readAll(stream)
		if err == nil {
			t.Fatal("no end")
		}
		if lines := bytes.Count(stream, []byte("\n")); len(runs)+messages > lines {
			t.Fatalf("%d runs and %d messages of %d lines", len(runs), messages, lines)
		}
		// What follows a valid stream does not change what it held.
		whole := guestStream(t, 2)
		both, _, _ := readAll(append(bytes.Clone(whole), stream...))
		if len(both) < 2 || both[0] != 1 || both[1] != 2 {
			t.Fatalf("got %v", both)
		}
	})
}
