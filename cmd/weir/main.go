// Command weir counts visits and short-link clicks on a replicated, Kafka-compatible log.
package main

import (
	"os"
	_ "time/tzdata" // time zones work on machines without a zone database

	"github.com/weir-analytics/weir/cmd"
)

func main() { os.Exit(cmd.Main()) }
