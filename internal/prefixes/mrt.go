package prefixes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/mrt"
)

var errRecordShort = errors.New("an MRT record is shorter than its content")

// isMRT reports whether head begins an MRT record of a type there is. No text has
// the zero byte that a type begins with.
func isMRT(head []byte) bool {
	if len(head) < mrt.MRT_COMMON_HEADER_LEN {
		return false
	}
	h, err := mrt.ParseHeader(head)
	return err == nil && h.Type <= mrt.OSPFv3_ET
}

// readMRT reads the records of a RIB dump. Of each it takes the prefix only: path
// attributes are stepped over, not decoded, since there are hundreds for every
// prefix in a collector's dump, and not all are well-formed.
func (c *collector) readMRT(r *bufio.Reader) error {
	var body bytes.Buffer
	for offset := int64(0); ; {
		head, err := r.Peek(mrt.MRT_COMMON_HEADER_LEN)
		if err == io.EOF && len(head) == 0 {
			return nil
		}
		if err != nil {
			return offsetError(offset, cutOff(err))
		}
		length := int64(binary.BigEndian.Uint32(head[8:]))
		kind := mrt.MRTType(binary.BigEndian.Uint16(head[4:]))
		subtype := binary.BigEndian.Uint16(head[6:])
		if length > maxRecord {
			return offsetError(offset, fmt.Errorf("an MRT record of %d bytes is longer than any", length))
		}
		r.Discard(mrt.MRT_COMMON_HEADER_LEN)
		body.Reset()
		if _, err := io.CopyN(&body, r, length); err != nil {
			return offsetError(offset, cutOff(err))
		}
		if err := c.addRecord(kind, subtype, body.Bytes()); err != nil {
			return offsetError(offset, err)
		}
		offset += mrt.MRT_COMMON_HEADER_LEN + length
	}
}

func (c *collector) addRecord(kind mrt.MRTType, subtype uint16, b []byte) error {
	switch kind {
	case mrt.TABLE_DUMP:
		return c.addTableDump(subtype, b)
	case mrt.TABLE_DUMPv2:
		return c.addTableDumpV2(mrt.MRTSubTypeTableDumpv2(subtype), b)
	case mrt.BGP4MP, mrt.BGP4MP_ET:
		return errors.New("holds BGP updates: a RIB dump (TABLE_DUMP or TABLE_DUMP_V2) was expected")
	}
	return fmt.Errorf("MRT type %d is not a RIB dump (TABLE_DUMP, 12, or TABLE_DUMP_V2, 13)", kind)
}

// addTableDump takes a record of RFC 6396, section 4.2: one for each prefix and
// peer. The subtype is the address family; 3 and 4 are IPv4 and IPv6 with AS
// numbers of 4 bytes, as some collectors wrote.
func (c *collector) addTableDump(subtype uint16, b []byte) error {
	size, as := 4, 2
	switch subtype {
	case 1:
	case 2:
		size = 16
	case 3:
		as = 4
	case 4:
		size, as = 16, 4
	default:
		return fmt.Errorf("TABLE_DUMP of address family %d, neither IPv4 (1) nor IPv6 (2)", subtype)
	}
	// View and sequence; prefix; length, status, time; peer, its AS; attributes.
	attributes := 4 + size + 6 + size + as
	if len(b) < attributes+2 || len(b) != attributes+2+int(binary.BigEndian.Uint16(b[attributes:])) {
		return errRecordShort
	}
	a, _ := netip.AddrFromSlice(b[4 : 4+size])
	p, err := a.Prefix(int(b[4+size]))
	if err != nil {
		return err
	}
	return c.add(p, true)
}

// addTableDumpV2 takes a record of RFC 6396, section 4.3, or RFC 8050.
func (c *collector) addTableDumpV2(subtype mrt.MRTSubTypeTableDumpv2, b []byte) error {
	var family bgp.Family
	addPath := false
	switch subtype {
	case mrt.PEER_INDEX_TABLE, mrt.GEO_PEER_TABLE:
		return nil
	case mrt.RIB_IPV4_MULTICAST, mrt.RIB_IPV6_MULTICAST,
		mrt.RIB_IPV4_MULTICAST_ADDPATH, mrt.RIB_IPV6_MULTICAST_ADDPATH:
		c.content.NotUnicast++
		return nil
	case mrt.RIB_IPV4_UNICAST_ADDPATH, mrt.RIB_IPV6_UNICAST_ADDPATH, mrt.RIB_GENERIC_ADDPATH:
		addPath = true
	}
	if len(b) < 4 {
		return errRecordShort
	}
	b = b[4:] // sequence number
	switch subtype {
	case mrt.RIB_IPV4_UNICAST, mrt.RIB_IPV4_UNICAST_ADDPATH:
		family = bgp.RF_IPv4_UC
	case mrt.RIB_IPV6_UNICAST, mrt.RIB_IPV6_UNICAST_ADDPATH:
		family = bgp.RF_IPv6_UC
	case mrt.RIB_GENERIC, mrt.RIB_GENERIC_ADDPATH:
		if len(b) < 3 {
			return errRecordShort
		}
		family = bgp.NewFamily(binary.BigEndian.Uint16(b), b[2])
		b = b[3:]
		if family != bgp.RF_IPv4_UC && family != bgp.RF_IPv6_UC {
			c.content.NotUnicast++
			return nil
		}
	default:
		return fmt.Errorf("TABLE_DUMP_V2 subtype %d is unknown", subtype)
	}
	return c.addRIB(family, addPath, b)
}

func (c *collector) addRIB(family bgp.Family, addPath bool, b []byte) error {
	nlri, err := bgp.NLRIFromSlice(family, b)
	if err != nil {
		return err
	}
	prefix, ok := nlri.(*bgp.IPAddrPrefix)
	if !ok || len(b) < nlri.Len() {
		return errRecordShort
	}
	if err := checkEntries(b[nlri.Len():], addPath); err != nil {
		return err
	}
	return c.add(prefix.Prefix.Masked(), true)
}

// checkEntries steps over the entries of a RIB record: peer, time, with addPath a
// path identifier, attributes.
func checkEntries(b []byte, addPath bool) error {
	if len(b) < 2 {
		return errRecordShort
	}
	entries := binary.BigEndian.Uint16(b)
	b = b[2:]
	head := 6
	if addPath {
		head += 4
	}
	for range entries {
		if len(b) < head+2 {
			return errRecordShort
		}
		next := head + 2 + int(binary.BigEndian.Uint16(b[head:]))
		if len(b) < next {
			return errRecordShort
		}
		b = b[next:]
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes follow the entries of an MRT record", len(b))
	}
	return nil
}
