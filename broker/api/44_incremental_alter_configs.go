package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// IncrementalAlterConfigs (44): change some settings of topics.
//
//	v1 tagged fields
//
// Append and subtract work on lists, which cleanup.policy is the only one of.
func (h *Handler) incrementalAlterConfigsKey() key {
	return key{num: 44, min: 0, max: 1, serve: decoded(h, h.incrementalAlterConfigs)}
}

func (h *Handler) incrementalAlterConfigs(ctx context.Context, req *wire.Request, q *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	r := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for _, res := range q.Resources {
		topic, err := h.alterable(req, res.ResourceType, res.ResourceName)
		var configs map[string]string
		if err == nil {
			configs, err = altered(topic.Configs, res.Configs)
		}
		if err == nil {
			err = h.setTopicConfigs(ctx, topic, configs, q.ValidateOnly)
		}
		a := kmsg.NewIncrementalAlterConfigsResponseResource()
		a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Resources = append(r.Resources, a)
	}
	return r
}

// altered returns a copy of settings with the changes made.
func altered(settings map[string]string, changes []kmsg.IncrementalAlterConfigsRequestResourceConfig) (map[string]string, error) {
	out := maps.Clone(settings)
	if out == nil {
		out = make(map[string]string)
	}
	seen := make(map[string]bool)
	for _, c := range changes {
		k, known := topicKeyOf(c.Name)
		switch {
		case !known:
			return nil, refuse(kerr.InvalidConfig, fmt.Sprintf("there is no setting %.100q", c.Name))
		case seen[c.Name]:
			return nil, refuse(kerr.InvalidRequest, c.Name+" is changed more than once in this request")
		case c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete:
			return nil, refuse(kerr.InvalidRequest, c.Name+" has no value")
		}
		seen[c.Name] = true
		if err := alter(out, k, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func alter(settings map[string]string, k topicKey, c kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	current, ok := settings[k.name]
	if !ok {
		current = k.value
	}
	list := strings.Split(current, ",")
	switch c.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		settings[k.name] = *c.Value
	case kmsg.IncrementalAlterConfigOpDelete:
		delete(settings, k.name)
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		if k.kind != kmsg.ConfigTypeList {
			return refuse(kerr.InvalidRequest, k.name+" is not a list: it can be set or deleted")
		}
		for item := range strings.SplitSeq(*c.Value, ",") {
			list = slices.DeleteFunc(list, func(s string) bool { return s == item })
			if c.Op == kmsg.IncrementalAlterConfigOpAppend {
				list = append(list, item)
			}
		}
		settings[k.name] = strings.Join(list, ",")
	default:
		return refuse(kerr.InvalidRequest, fmt.Sprintf("there is no operation %d on settings", c.Op))
	}
	return nil
}
