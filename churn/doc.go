// Package churn holds the workloads: what changes a FIB at scale, phase by
// phase, and the Runner that executes a workload in a fresh network namespace,
// times its phases and checks what the kernel did.
package churn
