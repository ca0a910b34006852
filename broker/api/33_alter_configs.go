package api

import (
	"context"
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// AlterConfigs (33): replace all settings of topics.
//
//	v2 tagged fields
//
// Settings of brokers are flags of the node and can't be changed here.
func (h *Handler) alterConfigsKey() key {
	return key{num: 33, min: 0, max: 2, serve: decoded(h, h.alterConfigs)}
}

func (h *Handler) alterConfigs(ctx context.Context, req *wire.Request, q *kmsg.AlterConfigsRequest) *kmsg.AlterConfigsResponse {
	r := kmsg.NewPtrAlterConfigsResponse()
	for _, res := range q.Resources {
		topic, err := h.alterable(req, res.ResourceType, res.ResourceName)
		configs := make(map[string]string)
		for _, c := range res.Configs {
			if c.Value != nil {
				configs[c.Name] = *c.Value
			}
		}
		if err == nil {
			err = h.setTopicConfigs(ctx, topic, configs, q.ValidateOnly)
		}
		a := kmsg.NewAlterConfigsResponseResource()
		a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Resources = append(r.Resources, a)
	}
	return r
}

// alterable finds the topic whose settings are to be changed.
func (h *Handler) alterable(req *wire.Request, kind kmsg.ConfigResourceType, name string) (*Topic, error) {
	denied := h.authorizeCluster
	if kind == kmsg.ConfigResourceTypeTopic {
		denied = func(req *wire.Request, op acl.Operation) error { return h.authorize(req, acl.Topic, name, op) }
	}
	if err := denied(req, acl.AlterConfigs); err != nil {
		return nil, err
	}
	if kind != kmsg.ConfigResourceTypeTopic {
		return nil, refuse(kerr.InvalidRequest, "only settings of topics can be changed; those of a broker are flags of the node")
	}
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	topic := h.backend.View().ByName[name]
	switch {
	case topic == nil:
		return nil, refuse(kerr.UnknownTopicOrPartition, "there is no such topic")
	case topic.Internal:
		return nil, refuse(kerr.PolicyViolation, name+" belongs to the broker")
	}
	return topic, nil
}

func (h *Handler) setTopicConfigs(ctx context.Context, topic *Topic, configs map[string]string, validateOnly bool) error {
	if err := CheckTopicConfig(configs); err != nil {
		return refuse(kerr.InvalidConfig, err.Error())
	}
	if validateOnly {
		return nil
	}
	if err := h.backend.SetTopicConfigs(ctx, topic.Name, configs); err != nil {
		return fmt.Errorf("change settings of %s: %w", topic.Name, err)
	}
	h.await(ctx, metadataWait, func(v *View) bool { t := v.ByID[topic.ID]; return t == nil || maps.Equal(t.Configs, configs) })
	return nil
}
