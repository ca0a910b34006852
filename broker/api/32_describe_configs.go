package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeConfigs (32): the settings of topics and of this broker.
//
//	v1 where a value comes from, synonyms; v3 type and documentation; v4 tagged fields
//
// Broker settings are those that clients look at, read-only: they are flags of the node.
func (h *Handler) describeConfigsKey() key {
	return key{num: 32, min: 0, max: 4, serve: decoded(h, h.describeConfigs)}
}

func (h *Handler) describeConfigs(_ context.Context, req *wire.Request, q *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	r := kmsg.NewPtrDescribeConfigsResponse()
	for _, res := range q.Resources {
		a := kmsg.NewDescribeConfigsResponseResource()
		a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
		var err error
		switch res.ResourceType {
		case kmsg.ConfigResourceTypeTopic:
			if err = h.authorize(req, acl.Topic, res.ResourceName, acl.DescribeConfigs); err == nil {
				a.Configs, err = h.topicConfigs(res.ResourceName, q)
			}
		case kmsg.ConfigResourceTypeBroker:
			if err = h.authorizeCluster(req, acl.DescribeConfigs); err == nil {
				a.Configs, err = h.brokerConfigs(res.ResourceName)
			}
		default:
			err = refuse(kerr.InvalidRequest, "only topics and brokers have settings here")
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		if res.ConfigNames != nil {
			a.Configs = slices.DeleteFunc(a.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool {
				return !slices.Contains(res.ConfigNames, c.Name)
			})
		}
		r.Resources = append(r.Resources, a)
	}
	return r
}

func (h *Handler) topicConfigs(name string, q *kmsg.DescribeConfigsRequest) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	topic := h.backend.View().ByName[name]
	if topic == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "there is no such topic")
	}
	var list []kmsg.DescribeConfigsResponseResourceConfig
	for _, k := range topicKeys {
		c := describeConfig(k.name, k.value, k.kind)
		if v, ok := topic.Configs[k.name]; ok {
			c.Value, c.IsDefault, c.Source = kmsg.StringPtr(v), false, kmsg.ConfigSourceDynamicTopicConfig
		}
		if q.IncludeSynonyms {
			c.ConfigSynonyms = synonyms(k, c)
		}
		if q.IncludeDocumentation {
			c.Documentation = kmsg.StringPtr(k.about)
		}
		list = append(list, c)
	}
	return list, nil
}

// synonyms lists the value in force, then what would be in force without it.
func synonyms(k topicKey, c kmsg.DescribeConfigsResponseResourceConfig) []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	of := func(value *string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Value, s.Source = k.name, value, source
		return s
	}
	fallback := of(kmsg.StringPtr(k.value), kmsg.ConfigSourceDefaultConfig)
	if c.IsDefault {
		return []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{fallback}
	}
	return []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{of(c.Value, c.Source), fallback}
}

func (h *Handler) brokerConfigs(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, error) {
	v := h.backend.View()
	if name == "" {
		return nil, nil // what is set for all brokers at run time: nothing can be
	}
	if name != strconv.Itoa(int(v.NodeID)) {
		return nil, refuse(kerr.InvalidRequest, "ask broker "+name+" itself")
	}
	flag := func(name, value string, kind kmsg.ConfigType) kmsg.DescribeConfigsResponseResourceConfig {
		c := describeConfig(name, value, kind)
		c.ReadOnly, c.IsDefault, c.Source = true, false, kmsg.ConfigSourceStaticBrokerConfig
		return c
	}
	return []kmsg.DescribeConfigsResponseResourceConfig{
		flag("auto.create.topics.enable", strconv.FormatBool(h.cfg.AutoCreateTopics), kmsg.ConfigTypeBoolean),
		flag("broker.id", name, kmsg.ConfigTypeInt),
		flag("connections.max.reauth.ms", strconv.FormatInt(h.cfg.Access.Reauthenticate.Milliseconds(), 10), kmsg.ConfigTypeLong),
		flag("default.replication.factor", "-1", kmsg.ConfigTypeInt),
		flag("fetch.max.bytes", strconv.Itoa(h.cfg.MaxFetchBytes), kmsg.ConfigTypeInt),
		flag("log.dirs", h.logDirs(), kmsg.ConfigTypeString),
		flag("num.partitions", strconv.Itoa(int(h.cfg.DefaultPartitions)), kmsg.ConfigTypeInt),
	}, nil
}

// logDirs are the paths of the directories of partitions, as Kafka's setting has them.
func (h *Handler) logDirs() string {
	var paths []string
	for _, d := range h.backend.LogDirs() {
		paths = append(paths, d.Path)
	}
	return strings.Join(paths, ",")
}

func describeConfig(name, value string, kind kmsg.ConfigType) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ConfigType = name, kmsg.StringPtr(value), kind
	c.IsDefault, c.Source = true, kmsg.ConfigSourceDefaultConfig
	return c
}
