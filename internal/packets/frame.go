package packets

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
)

// Offsets in a frame.
const (
	ethernetType   = 12
	ethernetLength = 14

	typeIPv4, typeIPv6 = 0x0800, 0x86dd

	ipv4TTL      = ethernetLength + 8
	ipv4Checksum = ethernetLength + 10
	ipv4Source   = ethernetLength + 12
	ipv4Dest     = ethernetLength + 16
	ipv4Length   = 20

	ipv6Hops   = ethernetLength + 7
	ipv6Source = ethernetLength + 8
	ipv6Dest   = ethernetLength + 24
	ipv6Length = 40

	udpLength = 8
	tcpLength = 24 // with the option MSS
	tcpMSS    = 1460

	// Of SYNs, by the number of the flow.
	lowestPort, ports = 1024, 1 << 15
)

// shortest is the shortest Ethernet frame, without its checksum.
const shortest = 60

// sentTTL is that of every frame. A router sends it on with one less.
const sentTTL = 64

// What every frame to be forwarded carries: a mark, and the number of its flow in
// this machine's byte order.
const (
	payloadMark   = 0x66696263 // "fibc"
	payloadLength = 8
)

// The port that forwarded datagrams go to: discard (RFC 863); and the one that they
// come from.
const (
	discardPort = 9
	sourcePort  = 49152
)

// A flow is what tells one flow's frames from another's: struct in the map of flows.
const (
	flowAddress  = 0  // destination of a datagram or source of a SYN; IPv4 in the first four bytes
	flowHeader   = 16 // checksum of the IPv4 header
	flowChecksum = 18 // checksum of the datagram or segment
	flowPort     = 20 // source port of a SYN
	flowBytes    = 24
)

// Protocols.
const (
	protocolTCP = 6
	protocolUDP = 17
)

// A frame is what all frames of an injector have in common.
type frame struct {
	ipv6     bool
	protocol byte
	bytes    []byte
	flowAt   int // where the address stands that flows differ in
}

// transport is where the header of the transport protocol begins.
func (f *frame) transport() int {
	if f.ipv6 {
		return ethernetLength + ipv6Length
	}
	return ethernetLength + ipv4Length
}

// payload is where a datagram's payload begins.
func (f *frame) payload() int { return f.transport() + udpLength }

// checksumAt is where the checksum of the transport protocol stands.
func (f *frame) checksumAt() int {
	if f.protocol == protocolTCP {
		return f.transport() + 16
	}
	return f.transport() + 6
}

// newFrame makes what datagrams and SYNs have in common; length is that of the
// transport header and the payload.
func newFrame(ipv6 bool, to, from net.HardwareAddr, protocol byte, length int) *frame {
	f := &frame{ipv6: ipv6, protocol: protocol}
	f.bytes = make([]byte, max(shortest, f.transport()+length))
	copy(f.bytes, to)
	copy(f.bytes[6:], from)
	big, ip := binary.BigEndian, f.bytes[ethernetLength:]
	if ipv6 {
		big.PutUint16(f.bytes[ethernetType:], typeIPv6)
		ip[0] = 6 << 4
		big.PutUint16(ip[4:], uint16(length))
		ip[6], ip[7] = protocol, sentTTL
		return f
	}
	big.PutUint16(f.bytes[ethernetType:], typeIPv4)
	ip[0] = 4<<4 | ipv4Length/4
	big.PutUint16(ip[2:], uint16(ipv4Length+length))
	big.PutUint16(ip[6:], 1<<14) // do not fragment
	ip[8], ip[9] = sentTTL, protocol
	return f
}

// newDatagram is a UDP datagram to the address of a flow.
func newDatagram(to, from net.HardwareAddr, source netip.Addr) *frame {
	// All of the shortest frame is payload: the stack cuts off what only fills it.
	length := udpLength + payloadLength
	if !source.Is6() {
		length = shortest - ethernetLength - ipv4Length
	}
	f := newFrame(source.Is6(), to, from, protocolUDP, length)
	f.flowAt = ipv4Dest
	at := ipv4Source
	if f.ipv6 {
		at, f.flowAt = ipv6Source, ipv6Dest
	}
	copy(f.bytes[at:], source.AsSlice())
	udp := f.bytes[f.transport():]
	binary.BigEndian.PutUint16(udp, sourcePort)
	binary.BigEndian.PutUint16(udp[2:], discardPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(length))
	binary.NativeEndian.PutUint32(f.bytes[f.payload():], payloadMark)
	return f
}

// newSYN is the first segment of a connection from the address of a flow.
func newSYN(to, from net.HardwareAddr, dest netip.AddrPort) *frame {
	f := newFrame(dest.Addr().Is6(), to, from, protocolTCP, tcpLength)
	f.flowAt = ipv4Source
	at := ipv4Dest
	if f.ipv6 {
		at, f.flowAt = ipv6Dest, ipv6Source
	}
	copy(f.bytes[at:], dest.Addr().AsSlice())
	tcp := f.bytes[f.transport():]
	binary.BigEndian.PutUint16(tcp[2:], dest.Port())
	binary.BigEndian.PutUint32(tcp[4:], 1<<24)  // sequence number
	tcp[12], tcp[13] = tcpLength/4<<4, 1<<1     // SYN
	binary.BigEndian.PutUint16(tcp[14:], 1<<15) // window
	copy(tcp[20:], []byte{2, 4, tcpMSS >> 8, tcpMSS & 0xff})
	return f
}

// flow writes what tells the frames of flow i apart, with the checksums that this
// makes. A datagram of IPv4 goes without a checksum of its own.
func (f *frame) flow(to []byte, i int, address netip.Addr) {
	big, frame := binary.BigEndian, slices.Clone(f.bytes)
	copy(to[flowAddress:], address.AsSlice())
	copy(frame[f.flowAt:], address.AsSlice())
	clear(frame[f.checksumAt():][:2])
	if !f.ipv6 {
		clear(frame[ipv4Checksum:][:2])
	}
	segment := frame[f.transport():]
	if f.protocol == protocolTCP {
		port := uint16(lowestPort + i%ports)
		big.PutUint16(segment, port)
		big.PutUint16(to[flowPort:], port)
	} else {
		binary.NativeEndian.PutUint32(frame[f.payload()+4:], uint32(i))
	}
	addresses := frame[ipv6Source:][:32]
	length := int(big.Uint16(frame[ethernetLength+4:]))
	if !f.ipv6 {
		big.PutUint16(to[flowHeader:], checksum(0, frame[ethernetLength:][:ipv4Length]))
		if f.protocol == protocolUDP {
			return
		}
		addresses = frame[ipv4Source:][:8]
		length = int(big.Uint16(frame[ethernetLength+2:])) - ipv4Length
	}
	pseudo := add(0, addresses) + int(f.protocol) + length
	sum := checksum(pseudo, segment[:length])
	if sum == 0 && f.protocol == protocolUDP {
		sum = 0xffff // 0 is none
	}
	big.PutUint16(to[flowChecksum:], sum)
}

// fill makes the frame that of a flow that flow has written, the first.
func (f *frame) fill(flow []byte) {
	size := 4
	if f.ipv6 {
		size = 16
	} else {
		copy(f.bytes[ipv4Checksum:], flow[flowHeader:][:2])
	}
	copy(f.bytes[f.flowAt:], flow[flowAddress:][:size])
	copy(f.bytes[f.checksumAt():], flow[flowChecksum:][:2])
	if f.protocol == protocolTCP {
		copy(f.bytes[f.transport():], flow[flowPort:][:2])
	}
}

// checksum is the Internet checksum (RFC 1071) of b and what was added up before.
func checksum(sum int, b []byte) uint16 {
	sum = add(sum, b)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// add adds up b, which is of even length.
func add(sum int, b []byte) int {
	for i := 0; i < len(b); i += 2 {
		sum += int(binary.BigEndian.Uint16(b[i:]))
	}
	return sum
}
