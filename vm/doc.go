// Package vm runs fibchurn in throwaway kernels: it boots a kernel image with
// this same static program as PID 1 of an initramfs, under QEMU or as User-Mode
// Linux, and takes the runs that the program measures there.
//
// The host's side is Boot. It needs no root, no root file system and no network,
// and leaves nothing behind however it ends: the initramfs is an anonymous file
// in memory, and the machine runs under a keeper process that takes it down as
// soon as this process is gone.
//
// The guest's side is Inside, which main calls first: in an ordinary process it
// does nothing, as PID 1 of such an initramfs it is the whole program.
//
// Results come over the guest's second serial port, not the console. That port is
// the one device every x86 kernel has built in (a virtio port needs up to five
// modules, and default configurations have none of them), and User-Mode Linux has
// it under the same name. It is slow (a run's 3 kB take 0.3 ms with User-Mode Linux
// and 17 ms with an interpreted processor), but that time lies between runs: the guest
// waits until a line has left.
package vm
