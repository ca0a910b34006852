package node

import (
	"strings"
	"testing"
)

func TestKafkaListeners(t *testing.T) {
	for _, c := range []struct {
		name             string
		kafka, advertise []string
		want             string // NAME=addr>advertised, or a part of the error
	}{
		{"plain", []string{"127.0.0.1:9092"}, nil, "PLAINTEXT=127.0.0.1:9092>"},
		{"an advertised address without a kind is the first one's", []string{"ssl://:9093", "127.0.0.1:9092"}, []string{"log.example:9093"}, "SSL=:9093>log.example:9093 PLAINTEXT=127.0.0.1:9092>"},
		{"each its own", []string{"127.0.0.1:9092", "SASL_SSL://:9093"}, []string{"sasl_ssl://log.example:9093", "plaintext://localhost:9092"}, "PLAINTEXT=127.0.0.1:9092>localhost:9092 SASL_SSL=:9093>log.example:9093"},
		{"two of a kind", []string{"127.0.0.1:9092", "[::1]:9092"}, []string{"plaintext://a:1", "plaintext://b:2"}, "PLAINTEXT=127.0.0.1:9092>a:1 PLAINTEXT-2=[::1]:9092>b:2"},
		{"no such kind", []string{"tls://:9093"}, nil, `allowed are plaintext://, ssl://`},
		{"no port", []string{"ssl://localhost"}, nil, "--kafka: "},
		{"nobody's", []string{"127.0.0.1:9092"}, []string{"ssl://log.example:9093"}, "belongs to no listener"},
		{"twice", []string{"127.0.0.1:9092"}, []string{"a:1", "b:2"}, "belongs to no listener"},
		{"no host", []string{":9092"}, []string{":9092"}, "has no host"},
		{"none", nil, nil, "--kafka: it is empty"},
	} {
		cfg := Default()
		cfg.Kafka, cfg.KafkaAdvertise = c.kafka, c.advertise
		list, err := cfg.kafkaListeners()
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			continue
		}
		var got []string
		for _, l := range list {
			got = append(got, l.name+"="+l.addr+">"+l.advertise)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
}

func TestAListenerThatStrangersReachIsRefused(t *testing.T) {
	required := KafkaAccess{ClientAuth: ClientAuthRequired}
	for _, c := range []struct {
		listener string
		access   KafkaAccess
		refused  bool
	}{
		{"127.0.0.1:0", KafkaAccess{}, false},
		{"[::1]:0", KafkaAccess{}, false},
		{"localhost:0", KafkaAccess{}, false},
		{":0", KafkaAccess{}, true},
		{"0.0.0.0:0", KafkaAccess{}, true},
		{"10.0.0.1:0", KafkaAccess{}, true},
		{"log.example:0", KafkaAccess{}, true},
		{"ssl://:0", KafkaAccess{ClientAuth: ClientAuthNone}, true},
		{"ssl://:0", KafkaAccess{ClientAuth: ClientAuthRequested}, true},
		{"ssl://:0", required, false},
		{"plaintext://:0", required, true},
		{"sasl_ssl://:0", KafkaAccess{}, false},
		{"sasl_plaintext://:0", KafkaAccess{}, false},
		{":0", KafkaAccess{AllowAnonymous: true}, false},
	} {
		cfg := Default()
		cfg.Kafka = []string{c.listener}
		list, err := cfg.kafkaListeners()
		if err != nil {
			t.Fatal(err)
		}
		err = c.access.guard(list)
		if (err != nil) != c.refused {
			t.Errorf("%s %+v: %v, want refused: %v", c.listener, c.access, err, c.refused)
		}
		if err != nil && !strings.Contains(err.Error(), "--kafka-allow-anonymous") {
			t.Errorf("%s: %v does not say what to do", c.listener, err)
		}
	}
}

func TestAccessFlagsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct {
		access KafkaAccess
		want   string
	}{
		{KafkaAccess{Cert: "c", ClientAuth: "none"}, "--kafka-tls-key"},
		{KafkaAccess{ClientAuth: "required"}, "--kafka-tls-client-ca"},
		{KafkaAccess{ClientAuth: "none", ClientCA: "ca"}, "--kafka-tls-client-auth"},
		{KafkaAccess{ClientAuth: "maybe"}, "--kafka-tls-client-auth"},
		{KafkaAccess{ClientAuth: "none", SuperUsers: "User:ada;bob"}, `"bob"`},
		{KafkaAccess{ClientAuth: "none", Reauthenticate: 1}, "--kafka-reauthenticate"},
	} {
		if err := c.access.validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.access, err, c.want)
		}
	}
}
