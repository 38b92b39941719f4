package vm

// Alternate is the order in which kernels are booted, boots times each: forward,
// backward, forward ... (base, patched, patched, base), so that what drifts on the
// host does not favour one.
func Alternate(kernels []Kernel, boots int) []Kernel {
	order := make([]Kernel, 0, len(kernels)*boots)
	for boot := range boots {
		for i := range kernels {
			if boot%2 == 1 {
				i = len(kernels) - 1 - i
			}
			order = append(order, kernels[i])
		}
	}
	return order
}
