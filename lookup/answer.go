package lookup

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds is a set of outcomes of a lookup. A route has one kind; an answer has
// several where the probe cannot tell them apart.
type Kinds uint8

// The outcomes: no route at all, and the types of routes (RTN_UNICAST...,
// include/uapi/linux/rtnetlink.h).
const (
	NoRoute Kinds = 1 << iota
	Unicast
	Local
	Broadcast
	Multicast
	Blackhole
	Unreachable
	Prohibit
)

// String is the names of the set, e.g. "unicast" or "no route or local".
func (k Kinds) String() string {
	names := []string{"no route", "unicast", "local", "broadcast", "multicast", "blackhole", "unreachable", "prohibit"}
	var in []string
	for i, name := range names {
		if k>>i&1 == 1 {
			in = append(in, name)
		}
	}
	if len(in) == 0 {
		return "nothing"
	}
	return strings.Join(in, " or ")
}

// An Answer is what a probe learned from one lookup.
type Answer struct {
	Kinds Kinds
	OIF   uint32 // output interface, 0 where the probe does not learn it
	Bits  int    // length of the matched prefix, -1 where the probe does not learn it
	// Foreign says that the reply named a destination other than the key, or
	// a prefix that does not hold it: never right.
	Foreign bool
	// Refused is why the kernel made no lookup, 0 where it did: never right.
	Refused unix.Errno
	// Bound is the interface that the lookup was bound to, for which routes out of
	// others do not count; 0 is none. It belongs to the question and is not packed.
	Bound uint32
}

// Describe renders the answer to a key, e.g. "unicast dev 3, matched 10.0.0.0/8".
func (a Answer) Describe(key netip.Addr) string {
	text := a.Kinds.String()
	if a.Refused != 0 {
		text = "refused (" + a.Refused.Error() + ")"
	}
	if a.OIF != 0 {
		text += fmt.Sprintf(" dev %d", a.OIF)
	}
	if a.Bits >= 0 {
		if p, err := key.Prefix(a.Bits); err == nil {
			text += ", matched " + p.String()
		}
	}
	if a.Foreign {
		text += ", about another destination"
	}
	return text
}

// A packed answer is an Answer in one word, never 0.
type packed uint64

const (
	foreignBit = 1 << 20
	answerBit  = 1 << 21
)

func (a Answer) pack() packed {
	p := packed(a.OIF)<<32 | packed(a.Kinds)<<24 | answerBit | packed(a.Refused&0xfff)<<8 | packed(a.Bits+1)
	if a.Foreign {
		p |= foreignBit
	}
	return p
}

func (p packed) unpack() Answer {
	return Answer{
		Kinds:   Kinds(p >> 24),
		OIF:     uint32(p >> 32),
		Bits:    int(p&0xff) - 1,
		Refused: unix.Errno(p >> 8 & 0xfff),
		Foreign: p&foreignBit != 0,
	}
}
