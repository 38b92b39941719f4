package offcpu

import (
	"strings"
	"testing"

	"fibchurn/results"
)

// Stacks as kernels give them: see the tests beside for how they come about.
func TestClassify(t *testing.T) {
	const request = "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendto;__sys_sendto;netlink_sendmsg;netlink_unicast;netlink_rcv_skb;"
	for stack, want := range map[string]string{
		// Linux 6.18, without frames of functions that end in a call.
		request + "rtnl_dellink;unregister_netdevice_many_notify;synchronize_rcu_expedited;schedule":       results.WaitSynchronizeNet,
		request + "rtnl_dellink;netdev_run_todo;rcu_barrier;wait_for_completion;schedule_timeout;schedule": results.WaitRCUBarrier,
		request + "rtnl_newlink;__mutex_lock;schedule_preempt_disabled;schedule":                           results.WaitRTNL,
		request + "inet_rtm_newroute;__mutex_lock;schedule_preempt_disabled;schedule":                      results.WaitRTNL,
		// Linux 6.1.
		request + "rtnetlink_rcv_msg;netdev_run_todo;rcu_barrier;__wait_for_common;schedule_timeout;schedule": results.WaitRCUBarrier,
		// What they would be with all frames.
		request + "rtnetlink_rcv_msg;rtnl_dellink;synchronize_net;synchronize_rcu_expedited;schedule":    results.WaitSynchronizeNet,
		request + "rtnetlink_rcv_msg;rtnl_lock;mutex_lock;__mutex_lock_slowpath;__mutex_lock;schedule":   results.WaitRTNL,
		request + "rtnetlink_rcv_msg;netdev_run_todo;rcu_barrier;mutex_lock;__mutex_lock;schedule":       results.WaitRCUBarrier,
		"entry;__x64_sys_membarrier;synchronize_rcu;synchronize_rcu_normal;wait_for_completion;schedule": results.WaitSynchronizeRCU,
		"entry;__x64_sys_membarrier;synchronize_rcu_expedited;schedule":                                  results.WaitSynchronizeRCU,
		// Other locks.
		request + "do_setlink;__mutex_lock;schedule":                           results.WaitLock,
		"entry;asm_exc_page_fault;down_read;rwsem_down_read_slowpath;schedule": results.WaitLock,
		"entry;do_init_module;blocking_notifier_call_chain;down_read;schedule": results.WaitLock,
		// The rest.
		"entry;do_syscall_64;__x64_sys_futex;do_futex;futex_wait;__futex_wait;futex_do_wait;schedule": results.WaitSelf,
		"entry;do_syscall_64;__x64_sys_nanosleep;hrtimer_nanosleep;do_nanosleep;schedule":             results.WaitOther,
		"entry;do_mq_timedreceive;down_timeout_of_something;schedule":                                 results.WaitOther,
		"": results.WaitOther,
	} {
		if got := classify(strings.Split(stack, ";")); got != want {
			t.Errorf("%s\nis %q, want %q", stack, got, want)
		}
	}
}
