package api

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// checkTopicName says INVALID_TOPIC_EXCEPTION for what can't be a topic's name.
func checkTopicName(name string) error {
	if name == "." || name == ".." || !topicName.MatchString(name) {
		return refuse(kerr.InvalidTopicException,
			fmt.Sprintf("%.260q is no topic name: 1 to 249 letters, digits, '.', '_' or '-' are", name))
	}
	return nil
}

// reserved names belong to the broker: clients neither create nor delete nor fill such topics.
func reserved(name string) bool {
	return strings.HasPrefix(name, "__consumer_offsets") || strings.HasPrefix(name, "__transaction_state")
}
