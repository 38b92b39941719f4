// Package rtnl is one rtnetlink socket for programs that time the kernel: encode
// a batch of requests once, send it in as few calls as possible, and account for
// the kernel's answer to every single request.
//
// The kernel works through all messages of one sendto(2) inside that call
// (netlink_rcv_skb, net/netlink/af_netlink.c), so the call's duration is the
// kernel's time. Answers are in the socket's receive queue when the call
// returns; they are read outside the clock.
//
// A Conn belongs to one goroutine. For the CPU times of its costs to mean
// anything that goroutine must be locked to its thread.
package rtnl
