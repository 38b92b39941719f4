package rtnl

import "golang.org/x/sys/unix"

// ShrinkReceiveBuffer gives the socket a receive buffer that is far too small for
// what the Conn believes it has.
func ShrinkReceiveBuffer(c *Conn) error {
	return unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096)
}

// LimitCall makes the Conn believe in smaller buffers.
func LimitCall(c *Conn, bytes, answers int) error {
	c.maxBytes, c.maxAnswers = bytes, answers
	return unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}
