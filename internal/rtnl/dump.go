package rtnl

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrInterrupted is returned by dumps that the kernel marked as inconsistent
// because the table changed meanwhile (NLM_F_DUMP_INTR).
var ErrInterrupted = errors.New("the dump is inconsistent: something changed the table meanwhile")

// Dump asks for all objects of a kind (typ is RTM_GET...) and calls f with each
// one's body, which is valid during the call only.
func (c *Conn) Dump(typ uint16, request encoding.BinaryMarshaler, f func(body []byte) error) error {
	var b Batch
	if err := b.Append(typ, netlink.Dump, request); err != nil {
		return err
	}
	c.seq++
	binary.NativeEndian.PutUint32(b.buf[8:], c.seq)
	if err := unix.Sendto(c.fd, b.buf, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send dump request: %w", err)
	}
	interrupted := false
	for {
		// The kernel queues the next part of the dump while a part is read
		// (netlink_recvmsg), so this never has to wait.
		data, err := c.receive()
		if err == unix.EAGAIN {
			return fmt.Errorf("dump: %w", ErrLost)
		}
		if err != nil {
			return fmt.Errorf("dump: %w", err)
		}
		for len(data) > 0 {
			var m message
			if m, data, err = nextMessage(data); err != nil {
				return fmt.Errorf("dump: %w", err)
			}
			if m.seq != c.seq {
				return fmt.Errorf("dump: unexpected netlink message of type %d with sequence %d", m.typ, m.seq)
			}
			interrupted = interrupted || m.flags&unix.NLM_F_DUMP_INTR != 0
			switch m.typ {
			case unix.NLMSG_DONE:
				return dumpEnd(m, interrupted)
			case unix.NLMSG_ERROR:
				return dumpError(m)
			}
			if err := f(m.body); err != nil {
				return err
			}
		}
	}
}

// dumpEnd reads NLMSG_DONE, which carries the error of a dump that failed midway.
func dumpEnd(m message, interrupted bool) error {
	if len(m.body) >= 4 {
		if code := int32(binary.NativeEndian.Uint32(m.body)); code < 0 {
			return fmt.Errorf("dump: %w", unix.Errno(-code))
		}
	}
	if interrupted {
		return ErrInterrupted
	}
	return nil
}

func dumpError(m message) error {
	errno, text, err := m.failure()
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return fmt.Errorf("dump: %w", &Failure{Errno: errno, Message: text})
}

// Links returns the indexes of the namespace's interfaces.
func (c *Conn) Links() (map[uint32]bool, error) {
	links := map[uint32]bool{}
	err := c.Dump(unix.RTM_GETLINK, &rtnetlink.LinkMessage{}, func(body []byte) error {
		if len(body) < unix.SizeofIfInfomsg {
			return errTruncated
		}
		links[binary.NativeEndian.Uint32(body[4:])] = true
		return nil
	})
	return links, err
}

// Addresses counts the addresses of a family (AF_INET, AF_INET6) by interface
// index.
func (c *Conn) Addresses(family uint8) (map[uint32]int64, error) {
	counts := map[uint32]int64{}
	err := c.Dump(unix.RTM_GETADDR, &rtnetlink.AddressMessage{Family: family}, func(body []byte) error {
		if len(body) < unix.SizeofIfAddrmsg {
			return errTruncated
		}
		if body[0] == family {
			counts[binary.NativeEndian.Uint32(body[4:])]++
		}
		return nil
	})
	return counts, err
}

// A RouteClass is what Routes counts by.
type RouteClass struct {
	Table uint32 // RT_TABLE_MAIN...
	Type  uint8  // RTN_UNICAST, RTN_LOCAL...
	Index uint32 // output interface, 0 where there is none or more than one
}

// Routes counts the routes of a family (AF_INET, AF_INET6) in all tables.
func (c *Conn) Routes(family uint8) (map[RouteClass]int64, error) {
	counts := map[RouteClass]int64{}
	err := c.Dump(unix.RTM_GETROUTE, &rtnetlink.RouteMessage{Family: family}, func(body []byte) error {
		if len(body) < unix.SizeofRtMsg {
			return errTruncated
		}
		if body[0] != family {
			return nil
		}
		class := RouteClass{Table: uint32(body[4]), Type: body[7]}
		attributes := body[unix.SizeofRtMsg:]
		if b := Attribute(attributes, unix.RTA_TABLE); len(b) == 4 {
			class.Table = binary.NativeEndian.Uint32(b)
		}
		if b := Attribute(attributes, unix.RTA_OIF); len(b) == 4 {
			class.Index = binary.NativeEndian.Uint32(b)
		}
		counts[class]++
		return nil
	})
	return counts, err
}
