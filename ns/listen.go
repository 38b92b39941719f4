package ns

import (
	"errors"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// Listen opens a socket in the namespace that gets the notifications of rtnetlink
// groups (RTNLGRP_IPV4_ROUTE...). The caller closes it. The error is an
// *UnsupportedError where the kernel does not count what such a socket loses.
func (n *Namespace) Listen(groups ...uint32) (*rtnl.Listener, error) {
	l, err := rtnl.Listen(n.file, groups...)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return nil, &UnsupportedError{"a listener to notifications", err.Error(), "use Linux 4.12 or later, or leave --listeners out"}
	}
	return l, err
}
