package vm

import "strings"

// complaintOf returns the line if it is one with which the kernel reports a defect
// of its own: WARNING, BUG, oops, lockdep, sanitizers, stalls, hung tasks.
func complaintOf(line string) bool {
	for _, start := range []string{
		"WARNING: ",      // __warn, kernel/panic.c, with all that lockdep says
		"BUG: ",          // page faults, sleeping while atomic, soft lockups, KASAN
		"kernel BUG at ", // BUG()
		"UBSAN: ", "KCSAN: ", "KMSAN: ", "KFENCE: ",
		"Oops: ", "Oops[#", "general protection fault", "divide error:", "invalid opcode:",
		"Unable to handle kernel ", "Kernel panic - not syncing",
		"rcu: INFO: ",                       // stalls, kernel/rcu/tree_stall.h
		"unregister_netdevice: waiting for", // a leaked reference, net/core/dev.c
		"refcount_t: ", "list_add corruption", "list_del corruption",
		"watchdog: BUG: ", "Out of memory: ", "DEBUG_LOCKS_WARN_ON(",
	} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	for _, part := range []string{
		" blocked for more than ", // kernel/hung_task.c
		"self-detected stall on CPU", "detected stalls on CPU",
		"possible circular locking dependency", "suspicious RCU usage", "[ BUG: ",
		"BUG: KASAN", "BUG: unable to handle", "kernel BUG at ",
	} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// oopsOf reports whether the line begins an oops.
func oopsOf(line string) bool {
	for _, part := range []string{"Oops: ", "BUG: unable to handle", "BUG: kernel NULL pointer", "kernel BUG at ", "general protection fault"} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

const panicMark = "Kernel panic - not syncing"
