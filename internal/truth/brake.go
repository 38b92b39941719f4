package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"fibchurn/churn"
	"fibchurn/ns"
)

// A brake makes the kernel slower by a known time a route. It is a listener to changes
// of IPv4 routes with a socket filter that counts to a number and drops the message: the
// kernel runs the filter inside the sendto(2) that changes the route
// (do_one_broadcast and sk_filter, net/netlink/af_netlink.c), so the delay is CPU time
// of the kernel in the timed region, of calls that the program makes as ever.
type brake struct {
	loops   int
	program *ebpf.Program
}

// newBrake loads a filter that counts to loops, 1 at least.
func newBrake(loops int) (*brake, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "brake", Type: ebpf.SocketFilter, License: "GPL",
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(loops)),
			asm.Sub.Imm(asm.R1, 1).WithSymbol("loop"),
			asm.JNE.Imm(asm.R1, 0, "loop"),
			asm.Mov.Imm(asm.R0, 0), // keep nothing of the message
			asm.Return(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("load the brake: %w", err)
	}
	return &brake{loops, program}, nil
}

func (b *brake) close() error { return b.program.Close() }

// apply opens a listener with the filter in the calling thread's namespace.
func (b *brake) apply() (_ *os.File, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open the brake's socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "brake")
	err = errors.Join(
		os.NewSyscallError("attach the brake", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, b.program.FD())),
		os.NewSyscallError("join the group of IPv4 routes", unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.RTNLGRP_IPV4_ROUTE - 1)})))
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// took is how long the kernel needs for the filter: the least of many measurements, each
// so short that some are not interrupted on a busy machine either.
func (b *brake) took() (time.Duration, error) {
	message := make([]byte, 64)
	least := time.Duration(1<<63 - 1)
	for range 200 {
		_, each, err := b.program.Benchmark(message, 50, nil)
		if err != nil {
			return 0, fmt.Errorf("time the brake: %w", err)
		}
		least = min(least, each)
	}
	return least, nil
}

// loopsFor is how far a brake must count to take longer by a time than one that counts
// to 1.
func loopsFor(longer time.Duration) (int, error) {
	const many = 10_000
	slow, err := newBrake(many)
	if err != nil {
		return 0, err
	}
	defer slow.close()
	took, err := slow.took()
	if err != nil {
		return 0, err
	}
	return 1 + int(float64(longer)*many/float64(took)), nil
}

// A braked workload adds routes and flushes them, with a brake on.
type braked struct {
	*churn.RoutesSpec
	side  int
	brake *brake
}

// Cell tells the two sides of a session apart; their specs are the same.
func (w *braked) Cell() string { return sideName(w.side) }

func sideName(side int) string { return [2]string{"base", "new"}[side] }

// Plan is that of routes, without what lies between add and flush.
func (w *braked) Plan() (*churn.Plan, error) {
	plan, err := w.RoutesSpec.Plan()
	if err != nil {
		return nil, err
	}
	var phases []*churn.Phase
	for _, ph := range plan.Phases {
		switch ph.Name {
		case "replace", "delete", "re-add":
		default:
			phases = append(phases, ph)
		}
	}
	plan.Phases = phases
	var on *os.File
	configure, release := plan.Configure, plan.Close
	plan.Configure = func(n *ns.Namespace) error {
		if configure != nil {
			if err := configure(n); err != nil {
				return err
			}
		}
		return n.Do(func() (err error) { on, err = w.brake.apply(); return err })
	}
	plan.Close = func() error {
		err := on.Close()
		if release != nil {
			err = errors.Join(err, release())
		}
		return err
	}
	return plan, nil
}
