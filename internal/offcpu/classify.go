package offcpu

import (
	"slices"
	"strings"

	"fibchurn/results"
)

// classify names what a thread with this stack, outermost function first, waits for.
// What is outermost counts: the grace period inside synchronize_net, and the mutex of
// rcu_barrier, are waits of those.
//
// A function may be missing in a stack where it ends in a call, which compilers make a
// jump. synchronize_net ends in synchronize_rcu_expedited or synchronize_rcu
// (net/core/dev.c), and the former is what only it makes of the networking code while
// RTNL is held: seen under a request of rtnetlink it is synchronize_net. rtnl_lock is
// mutex_lock(&rtnl_mutex) (net/core/rtnetlink.c): a mutex that a function which calls
// rtnl_lock waits for itself is RTNL.
//
// futex(2) in a timed stretch is Go's scheduler: it lets a thread that returns from a
// system call go on only when one of its GOMAXPROCS places is free.
func classify(stack []string) string {
	networking := false
	for i, f := range stack {
		networking = networking || requests[f]
		switch {
		case f == "synchronize_net":
			return results.WaitSynchronizeNet
		case f == "rcu_barrier":
			return results.WaitRCUBarrier
		case strings.HasPrefix(f, "synchronize_rcu_expedited") && networking:
			return results.WaitSynchronizeNet
		case strings.HasPrefix(f, "synchronize_rcu"):
			return results.WaitSynchronizeRCU
		case strings.HasPrefix(f, "rtnl_lock") || strings.HasPrefix(f, "rtnl_net_lock"):
			return results.WaitRTNL
		case isMutex(f) && i > 0 && locksRTNL(stack[i-1]):
			return results.WaitRTNL
		case isLock(f):
			return results.WaitLock
		case strings.HasSuffix(f, "_sys_futex"):
			return results.WaitSelf
		}
	}
	return results.WaitOther
}

// requests are the functions through which requests of rtnetlink come, and what the
// end of one does after it (netdev_run_todo).
var requests = map[string]bool{"rtnetlink_rcv_msg": true, "netlink_rcv_skb": true, "netlink_sendmsg": true}

// locksRTNL reports whether a function is of those that handle requests of rtnetlink
// and call rtnl_lock or rtnl_net_lock.
func locksRTNL(f string) bool {
	return f == "netdev_run_todo" || slices.ContainsFunc([]string{"rtnl_", "rtnetlink_", "inet_rtm_", "inet6_rtm_", "netdev_wait_allrefs"}, func(prefix string) bool {
		return strings.HasPrefix(f, prefix)
	})
}

func isMutex(f string) bool {
	return strings.HasPrefix(f, "__mutex_lock") || strings.HasPrefix(f, "mutex_lock")
}

func isLock(f string) bool {
	return isMutex(f) || slices.ContainsFunc([]string{
		"down", "down_interruptible", "down_killable", "down_read", "down_write", "percpu_down_", "rwsem_down_", "__down", "__percpu_down_read", "rt_mutex_", "__rt_mutex_", "rt_spin_lock", "rtlock_",
	}, func(prefix string) bool { return strings.HasPrefix(f, prefix) && !strings.HasPrefix(f, "down_timeout") })
}
