package broker

import (
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/weir-analytics/weir/broker/record"
)

// talk is a script with one broker: what later requests need of earlier answers, and names for what every broker chooses by itself.
type talk struct {
	c     *kgo.Client
	names map[string]string // "member a3f..." -> "member 1"

	topicID    [16]byte
	member     string
	generation int32
	producerID int64
	epoch      int16
}

// line is one request of a script.
type line struct {
	name string
	ask  func(*talk) kmsg.Request
	took func(*talk, kmsg.Response) // what later lines need
	// but has the fields in which weir differs on purpose, by the beginning of their path, with the reason.
	but map[string]string
}

// TestAnswersAreThoseOfKfakeFieldByField sends the same requests to weir and to kfake and compares all fields of the answers but those
// that every broker chooses by itself: ids are compared by where they come again, times and addresses not at all.
func TestAnswersAreThoseOfKfakeFieldByField(t *testing.T) {
	b, _ := start(t, nil)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	asked := compare(t, talkTo(t, b.Addr().String()), talkTo(t, fake.ListenAddrs()[0]), fieldScript(t))

	login := kgo.SASL(plain.Auth{User: "admin", Pass: "a long secret"}.AsMechanism())
	guarded, _ := startGuarded(t, func(c *Config) { c.API.Access.Enforced, c.API.Access.Policy.SuperUsers = true, []string{"User:admin"} }, loginListener)
	addUser(t, guarded, "admin", "a long secret")
	fakeGuarded, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "a long secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fakeGuarded.Close)
	maps.Copy(asked, compare(t, talkTo(t, guarded.Addrs()[1].String(), login), talkTo(t, fakeGuarded.ListenAddrs()[0], login), accessScript()))

	// What cannot be part of a script, and where it is compared instead.
	elsewhere := map[int16]string{
		18: "ranges differ: versions_test.go", 17: "the log-in of each client above", 36: "the log-in of each client above",
		1: "differential_fetch_test.go and below",
	}
	theirs := kfakeKeys(t, fake.ListenAddrs()[0])
	for key := range kfakeKeys(t, b.Addr().String()) {
		if _, skipped := elsewhere[key]; theirs[key] && !asked[key] && !skipped {
			t.Errorf("%s (%d) is answered by both and compared nowhere", kmsg.NameForKey(key), key)
		}
	}
}

func talkTo(t *testing.T, addr string, opts ...kgo.Opt) *talk {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.ClientID("differential"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &talk{c: c, names: make(map[string]string)}
}

func kfakeKeys(t *testing.T, addr string) map[int16]bool {
	t.Helper()
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(within(t), talkTo(t, addr).c)
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[int16]bool)
	for _, k := range resp.ApiKeys {
		keys[k.ApiKey] = true
	}
	return keys
}

// compare runs a script with both and returns the keys that were asked.
func compare(t *testing.T, weir, other *talk, script []line) map[int16]bool {
	t.Helper()
	asked := make(map[int16]bool)
	for _, l := range script {
		asked[l.ask(weir).Key()] = true
		got, want := weir.answer(t, l), other.answer(t, l)
		used := make(map[string]bool)
		for _, path := range slices.Sorted(maps.Keys(merged(got, want))) {
			if got[path] == want[path] || inOtherList(path, got, want) {
				continue
			}
			known := ""
			for prefix := range l.but {
				if strings.HasPrefix(path, prefix) {
					known = prefix
				}
			}
			if known == "" {
				t.Errorf("%s: %s: weir %q, kfake %q", l.name, path, got[path], want[path])
			}
			used[known] = true
		}
		for prefix, reason := range l.but {
			if !used[prefix] {
				t.Errorf("%s: %s is no difference any more (%s)", l.name, prefix, reason)
			}
		}
	}
	return asked
}

// inOtherList tells whether path lies in a list that has another length on the other side, which is reported once.
func inOtherList(path string, a, b map[string]string) bool {
	for i := range path {
		if list := path[:i] + ".len"; path[i] == '[' && a[list] != b[list] {
			return true
		}
	}
	return false
}

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func (k *talk) answer(t *testing.T, l line) map[string]string {
	t.Helper()
	ctx := within(t)
	resp, err := k.c.SeedBrokers()[0].Request(ctx, l.ask(k))
	for err == nil && settling(resp) { // as clients do: markers are being written
		resp, err = k.c.SeedBrokers()[0].Request(ctx, l.ask(k))
	}
	if err != nil {
		t.Fatalf("%s: %v", l.name, err)
	}
	if l.took != nil {
		l.took(k, resp)
	}
	fields := make(map[string]string)
	k.flatten(reflect.ValueOf(resp).Elem(), "", fields)
	return fields
}

func settling(resp kmsg.Response) bool {
	code := reflect.ValueOf(resp).Elem().FieldByName("ErrorCode")
	return code.IsValid() && int16(code.Int()) == kerr.ConcurrentTransactions.Code
}

// ignored are fields that say nothing about behaviour.
var ignored = map[string]bool{
	"Version": true, "ThrottleMillis": true, "ErrorMessage": true, "UnknownTags": true, "Host": true, "Port": true, "Rack": true,
	"ClusterID": true, "ClientHost": true, "Dir": true, "Size": true, "TotalBytes": true, "UsableBytes": true, "Documentation": true,
	"AuthorizedOperations": true, "ClusterAuthorizedOperations": true,
}

// named are fields whose values every broker chooses by itself.
var named = map[string]string{
	"MemberID": "member", "LeaderID": "member", "Leader": "node", "NodeID": "node", "ControllerID": "node", "BrokerID": "node", "Replicas": "node", "ISR": "node",
	"TopicID": "topic", "ProducerID": "producer", "CoordinatorEpoch": "coordinator epoch", "LeaderEpoch": "leader epoch",
}

// flatten puts every field of v under its path. Lists of structs are ordered by what they say, not by how they came.
func (k *talk) flatten(v reflect.Value, path string, into map[string]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			into[path] = "null"
		} else {
			k.flatten(v.Elem(), path, into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && !ignored[name] {
				k.flatten(v.Field(i), path+"."+name, into)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			into[path] = hex.EncodeToString(v.Bytes())
			if strings.HasSuffix(path, ".RecordBatches") {
				into[path] = batches(v.Bytes())
			}
			return
		}
		items := make([]map[string]string, v.Len())
		order := make([]int, v.Len())
		for i := range items {
			items[i], order[i] = make(map[string]string), i
			k.flatten(v.Index(i), "", items[i])
		}
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(place(items[a]), place(items[b])) })
		into[path+".len"] = fmt.Sprint(v.Len())
		for n, i := range order {
			for p, value := range items[i] {
				into[fmt.Sprintf("%s[%d]%s", path, n, p)] = k.value(path+p, value)
			}
		}
	default:
		into[path] = k.value(path, fmt.Sprint(v.Interface()))
	}
}

// place is what an item of a list is ordered by.
func place(item map[string]string) string {
	var keys []string
	for _, field := range []string{".Topic", ".Partition", ".Name", ".Group", ".TransactionalID", ".ResourceType", ".ResourceName", ".Key", ".User", "", ".ErrorCode"} {
		keys = append(keys, item[field])
	}
	return strings.Join(keys, "\x00")
}

// batches says what is in record batches, without what lies outside their checksum and without the producer's id.
func batches(b []byte) string {
	var said []string
	for len(b) > 0 {
		batch, rest, err := record.Parse(b)
		if err != nil {
			return fmt.Sprint(said, err)
		}
		said = append(said, fmt.Sprintf("%d+%d seq %d epoch %d control %v txn %v", batch.BaseOffset, batch.Count, batch.BaseSequence, batch.ProducerEpoch, batch.Control(), batch.Transactional()))
		b = rest
	}
	return strings.Join(said, ", ")
}

// value is what is compared of a field.
func (k *talk) value(path, s string) string {
	field, _, _ := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	switch {
	case strings.Contains(field, "Timestamp") && len(s) > 9, field == "LogAppendTime" && s != "-1":
		return "a time"
	case named[field] == "" || s == "" || s == "-1" || field == "TopicID" && strings.Trim(s, "[]0 ") == "" || strings.HasPrefix(s, named[field]+" "):
		return s
	}
	id := named[field] + " " + s
	if k.names[id] == "" {
		n := 1
		for other := range k.names {
			if strings.HasPrefix(other, named[field]+" ") {
				n++
			}
		}
		k.names[id] = fmt.Sprint(named[field], " ", n)
	}
	return k.names[id]
}
