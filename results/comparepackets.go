package results

// packetGauges are of the packets of forward, stretch by stretch, and of the cookies
// of flood. CPU time is compared where it does not come in ticks.
func (s *strand) packetGauges(metric string, wanted func(string) bool) []gauge {
	var all []gauge
	add := func(phase string, wall, cpu packetFigure) {
		value := wall
		if metric == metricPacketCPU {
			value = cpu
		}
		if wanted(phase) {
			all = append(all, gauge{phase, metric, value})
		}
	}
	switch s.command {
	case "forward":
		for _, stretch := range forwardStretches(s.base) {
			add(stretch, gapOf(stretch), cpuOf(stretch))
		}
	case "flood":
		add(floodPhase, cookieGap, cookieCPU)
	}
	return all
}
