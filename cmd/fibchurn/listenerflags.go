package main

import (
	"github.com/urfave/cli/v2"

	"fibchurn/churn"
)

// listenerFlags are the flags of workloads whose notifications can be listened to.
func listenerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "listeners", Value: numberOf(0), Usage: "sockets subscribed to route notifications, and what they lose"},
		&cli.BoolFlag{Name: "slow", Usage: "the listeners read nothing before the end"},
	}
}

// listenersOf turns the flags into a spec, which the workload validates, and an
// observer.
func listenersOf(c *cli.Context, m *measure) churn.ListenerSpec {
	s := churn.ListenerSpec{Listeners: countOf(c, "listeners"), Slow: c.Bool("slow")}
	if s.Listeners > 0 {
		m.observers = append(m.observers, &churn.Listeners{ListenerSpec: s, Families: m.families})
	}
	return s
}
