package packets

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
)

// summed is the checksum of b with its pseudo header: 0 where the one within is right.
func summed(f *frame, b []byte) uint16 {
	ip := b[ethernetLength:]
	if !f.ipv6 {
		length := int(binary.BigEndian.Uint16(ip[2:])) - ipv4Length
		return checksum(add(0, ip[12:20])+int(ip[9])+length, ip[ipv4Length:][:length])
	}
	length := int(binary.BigEndian.Uint16(ip[4:]))
	return checksum(add(0, ip[8:40])+int(ip[6])+length, ip[ipv6Length:][:length])
}

// A frame with what a flow writes into it has right checksums and is of the right
// addresses and ports.
func TestFlowChecksums(t *testing.T) {
	to, from := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	for _, c := range []struct{ here, there string }{{"198.19.255.1", "10.1.2.3"}, {"2001:2:0:ffff::1", "2001:db8:1:2:3:4:5:6"}} {
		here, there := netip.MustParseAddr(c.here), netip.MustParseAddr(c.there)
		for name, f := range map[string]*frame{
			"datagram": newDatagram(to, from, here), "syn": newSYN(to, from, netip.AddrPortFrom(here, 80)),
		} {
			for _, i := range []int{0, 1, 70_000} {
				var flow [flowBytes]byte
				f.flow(flow[:], i, there)
				f.fill(flow[:])
				b := f.bytes
				if f.protocol == protocolUDP {
					binary.NativeEndian.PutUint32(b[f.payload()+4:], uint32(i))
				}
				if len(b) < shortest || string(b[:6]) != string(to) || string(b[6:12]) != string(from) {
					t.Errorf("%s: %d bytes from % x to % x", name, len(b), b[6:12], b[:6])
				}
				if !f.ipv6 && checksum(0, b[ethernetLength:][:ipv4Length]) != 0 {
					t.Errorf("%s %s, flow %d: the header checksum is wrong: % x", name, c.there, i, b)
				}
				if none := !f.ipv6 && f.protocol == protocolUDP; !none && summed(f, b) != 0 {
					t.Errorf("%s %s, flow %d: the checksum is wrong: % x", name, c.there, i, b)
				} else if none && binary.BigEndian.Uint16(b[f.checksumAt():]) != 0 {
					t.Errorf("%s %s: has a checksum, which forwarding would have to keep right", name, c.there)
				}
				if a, _ := netip.AddrFromSlice(b[f.flowAt:][:there.BitLen()/8]); a != there {
					t.Errorf("%s: the flow's address is %s, want %s", name, a, there)
				}
			}
		}
	}
}

// A sum of 0 is sent as all ones, for 0 would say that there is none (RFC 8200, 8.1).
func TestFlowChecksumNeverZero(t *testing.T) {
	f := newDatagram(make([]byte, 6), make([]byte, 6), netip.MustParseAddr("2001:2:0:ffff::1"))
	var flow [flowBytes]byte
	var b [16]byte
	b[0], b[1] = 0x20, 0x01
	for low := range 1 << 16 {
		binary.BigEndian.PutUint16(b[14:], uint16(low))
		if f.flow(flow[:], 0, netip.AddrFrom16(b)); binary.BigEndian.Uint16(flow[flowChecksum:]) == 0 {
			t.Fatalf("the checksum to %s is 0", netip.AddrFrom16(b))
		}
	}
}
