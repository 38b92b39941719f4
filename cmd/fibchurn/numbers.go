package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"
)

// A whole is a flag's number that is no count of things: decimal, whatever it begins
// with, and hexadecimal after 0x where the flag's field is written so.
type whole struct {
	value, most uint64
	hex         bool
}

// Set parses text; it makes *whole a flag.Value.
func (n *whole) Set(text string) error {
	digits, base := text, 10
	if n.hex && len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		digits, base = text[2:], 16
	}
	v, err := strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && v > n.most:
		return fmt.Errorf("must be 0 to %d", n.most)
	case err != nil && n.hex:
		return errors.New("must be a number, in decimal or, after 0x, in hexadecimal digits")
	case err != nil:
		return errors.New("must be a number, in decimal digits")
	}
	n.value = v
	return nil
}

func (n *whole) String() string { return strconv.FormatUint(n.value, 10) }

// wholeFlag is a flag whose value is a number of 0 to most.
func wholeFlag(name string, value, most uint64, usage string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Value: &whole{value: value, most: most}, Usage: usage}
}

// seedFlag is the flag of every command that draws.
func seedFlag() cli.Flag {
	return wholeFlag("seed", 1, math.MaxUint64, "seed of the order of the runs")
}

// wholeOf is the value of a flag that is a whole.
func wholeOf(c *cli.Context, name string) uint64 { return c.Generic(name).(*whole).value }

// keepSpaces has the values of lists taken as they are, so that a stray space is not
// overlooked in one place and an error in another.
func keepSpaces(flags []cli.Flag) {
	for _, f := range flags {
		if list, ok := f.(*cli.StringSliceFlag); ok {
			list.KeepSpace = true
		}
	}
}
