// Package packets puts frames into a network namespace without a traffic generator,
// and accounts for every one of them.
//
// An Injector has the kernel run an XDP program on frames of its own making
// (BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18 and later,
// bpf_test_run_xdp_live, net/bpf/test_run.c): as if a driver had received them, the
// frames go up the stack or out of another interface, in bursts of one NAPI poll. A
// Sink is an XDP program at the other end of a veth that counts what comes, and drops
// it. Counters are what the kernel itself counted.
//
// The kernel recycles frames with whatever was left in them, so the program writes
// everything anew that forwarding changes.
package packets
