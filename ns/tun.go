package ns

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"fibchurn/internal/rtnl"
)

// OpenTun makes a tun interface, which lives until the returned file is closed
// or the interface is removed. While the file is open the interface has a
// carrier.
func (n *Namespace) OpenTun(l Link) (*os.File, error) {
	var file *os.File
	err := n.Do(func() (err error) {
		file, err = PrepareTun(l)
		if err != nil {
			return err
		}
		if _, err = AttachTun(file, l, nil); err != nil {
			file.Close()
		}
		return err
	})
	return file, err
}

// PrepareTun opens the tun device and sets the index of the interface to come.
// It must run on the thread of the namespace.
func PrepareTun(l Link) (*os.File, error) {
	file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, os.ErrPermission) {
		return nil, &UnsupportedError{"an interface of kind tun", err.Error(), "load the module tun, and see that /dev/net/tun may be opened"}
	}
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.TUNSETIFINDEX, int(l.Index)); err != nil {
		file.Close()
		return nil, fmt.Errorf("set the index of %s: %w", l.Name, err)
	}
	return file, nil
}

// AttachTun creates the interface behind a prepared file: one ioctl(2), timed. The
// witness, where it is not nil, is told of it.
func AttachTun(file *os.File, l Link, witness rtnl.Witness) (rtnl.Cost, error) {
	request, err := unix.NewIfreq(l.Name)
	if err != nil {
		return rtnl.Cost{}, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	fd := file.Fd()
	var watch rtnl.Stopwatch
	watch.Watch(witness)
	watch.Start()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TUNSETIFF, uintptr(unsafe.Pointer(request)))
	cost := watch.Stop()
	if errno != 0 {
		return cost, fmt.Errorf("make tun interface %s: %w", l.Name, errno)
	}
	return cost, nil
}
