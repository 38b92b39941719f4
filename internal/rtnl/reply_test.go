package rtnl

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// nlmsg builds a netlink message.
func nlmsg(typ, flags uint16, seq uint32, body ...byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr, 64)
	binary.NativeEndian.PutUint16(b[4:], typ)
	binary.NativeEndian.PutUint16(b[6:], flags)
	binary.NativeEndian.PutUint32(b[8:], seq)
	b = append(b, body...)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

// nlmsgerr builds the body of an error message about a request of n bytes.
func nlmsgerr(code int32, n uint32, rest ...byte) []byte {
	b := make([]byte, 4+unix.SizeofNlMsghdr)
	binary.NativeEndian.PutUint32(b, uint32(code))
	binary.NativeEndian.PutUint32(b[4:], n)
	return append(b, rest...)
}

func nlattr(typ uint16, text string) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(text)+1))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = append(b, text...)
	b = append(b, 0)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func TestFailure(t *testing.T) {
	extack := nlattr(nlmsgerrAttrMsg, "no such luck")
	for _, test := range []struct {
		name  string
		flags uint16
		body  []byte
		errno unix.Errno
		text  string
		bad   bool
	}{
		{name: "acknowledgement", body: nlmsgerr(0, 16)},
		{name: "errno alone", body: nlmsgerr(-17, 16), errno: unix.EEXIST},
		{name: "capped with message", flags: unix.NLM_F_CAPPED | unix.NLM_F_ACK_TLVS, body: nlmsgerr(-22, 60, extack...), errno: unix.EINVAL, text: "no such luck"},
		{name: "message after the payload", flags: unix.NLM_F_ACK_TLVS, body: nlmsgerr(-22, 20, append([]byte{1, 2, 3, 4}, extack...)...), errno: unix.EINVAL, text: "no such luck"},
		{name: "payload longer than the message", flags: unix.NLM_F_ACK_TLVS, body: nlmsgerr(-22, 4000, extack...), bad: true},
		{name: "payload length below the header", flags: unix.NLM_F_ACK_TLVS, body: nlmsgerr(-22, 3, extack...), bad: true},
		{name: "short", body: []byte{0, 0, 0, 0}, bad: true},
		{name: "positive code", body: nlmsgerr(5, 16), bad: true},
		{name: "code out of range", body: nlmsgerr(-5000, 16), bad: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := message{typ: unix.NLMSG_ERROR, flags: test.flags, body: test.body}
			errno, text, err := m.failure()
			if (err != nil) != test.bad {
				t.Fatalf("error %v", err)
			}
			if err == nil && (errno != test.errno || text != test.text) {
				t.Errorf("got %v %q, want %v %q", errno, text, test.errno, test.text)
			}
		})
	}
}

func TestNextMessage(t *testing.T) {
	two := append(nlmsg(unix.NLMSG_ERROR, 0, 7, 1, 2, 3), 0) // padded to 4
	two = append(two, nlmsg(unix.NLMSG_DONE, 0, 8)...)
	m, rest, err := nextMessage(two)
	if err != nil || m.seq != 7 || len(m.body) != 3 {
		t.Fatalf("first message: %+v, %v", m, err)
	}
	m, rest, err = nextMessage(rest)
	if err != nil || m.typ != unix.NLMSG_DONE || len(rest) != 0 {
		t.Fatalf("second message: %+v, rest %d, %v", m, len(rest), err)
	}
	for _, bad := range [][]byte{{}, two[:10], append([]byte{200, 0, 0, 0}, two[4:]...), append([]byte{8, 0, 0, 0}, two[4:]...)} {
		if _, _, err := nextMessage(bad); !errors.Is(err, errTruncated) {
			t.Errorf("nextMessage(% x): %v", bad, err)
		}
	}
}

func TestNumber(t *testing.T) {
	var b Batch
	for range 4 {
		if err := b.DelLink(9); err != nil {
			t.Fatal(err)
		}
	}
	seqs := func() (seq []uint32, acks []bool) {
		for i := range b.Len() {
			h := b.buf[b.start(i):]
			seq = append(seq, binary.NativeEndian.Uint32(h[8:]))
			acks = append(acks, binary.NativeEndian.Uint16(h[6:])&unix.NLM_F_ACK != 0)
		}
		return seq, acks
	}
	b.number(0, 4, 100, AckAll)
	if seq, acks := seqs(); seq[3] != 103 || !acks[0] {
		t.Errorf("AckAll: %v %v", seq, acks)
	}
	b.number(0, 2, 200, AckLast)
	b.number(2, 4, 202, AckLast)
	if seq, acks := seqs(); seq[2] != 202 || acks[0] || !acks[1] || acks[2] || !acks[3] {
		t.Errorf("AckLast: %v %v", seq, acks)
	}
	b.Truncate(1)
	if b.Len() != 1 || len(b.buf) != b.ends[0] {
		t.Errorf("Truncate left %d requests in %d bytes", b.Len(), len(b.buf))
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(nlmsg(unix.NLMSG_ERROR, unix.NLM_F_CAPPED|unix.NLM_F_ACK_TLVS, 1, nlmsgerr(-22, 60, nlattr(1, "text")...)...))
	f.Add(nlmsg(unix.NLMSG_ERROR, unix.NLM_F_ACK_TLVS, 1, nlmsgerr(-22, 20, 1, 2, 3, 4, 9, 0, 1, 0, 'x')...))
	f.Add(nlmsg(unix.NLMSG_DONE, 0, 1, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		for len(data) > 0 {
			m, rest, err := nextMessage(data)
			if err != nil {
				return
			}
			if len(rest) >= len(data) {
				t.Fatal("no progress")
			}
			_, _, _ = m.failure()
			_ = Attribute(m.body, 1)
			data = rest
		}
	})
}
