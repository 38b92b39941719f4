package results

// addrsSentences concludes the command addrs.
func addrsSentences(b block) []string { return growthSentences(b, "addresses") }
