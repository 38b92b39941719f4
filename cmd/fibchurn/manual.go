package main

import _ "embed"

// manualText is the manual page around the flags' definitions.
//
//go:embed manual.md
var manualText string
