package churn

// complaint is what a spec has against itself; "" nothing.
func complaint(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
