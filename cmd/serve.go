package cmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-analytics/weir/cmd/node"
	"github.com/weir-analytics/weir/cmd/node/kafkalog"
)

// rooms are the flags of serve, grouped by the room that they are for.
type rooms struct {
	names []string
	sets  map[string]*pflag.FlagSet
}

func (r *rooms) room(name string) *pflag.FlagSet {
	if r.sets == nil {
		r.sets = map[string]*pflag.FlagSet{}
	}
	if r.sets[name] == nil {
		r.names = append(r.names, name)
		r.sets[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
		r.sets[name].SortFlags = false
	}
	return r.sets[name]
}

// bind adds all flags to c and lets its help show them by room.
func (r *rooms) bind(c *cobra.Command) {
	for _, name := range r.names {
		c.Flags().AddFlagSet(r.sets[name])
	}
	c.SetUsageFunc(func(c *cobra.Command) error {
		w := c.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
		for _, name := range r.names {
			fmt.Fprintf(w, "\n%s:\n%s", name, r.sets[name].FlagUsages())
		}
		fmt.Fprintf(w, "\nEach flag can also be set by an environment variable (--http by %s) and in the file of --config.\n", envName("http"))
		return nil
	})
}

// logFlags say how to log.
type logFlags struct{ level, format string }

func (f *logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.level)) // the flag takes only words that parse
	opts := &slog.HandlerOptions{Level: level}
	if f.format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// nodeFlags binds the flags of a node to cfg.
func nodeFlags(c *cobra.Command, cfg *node.Config, logs *logFlags) {
	var r rooms
	*logs = logFlags{level: "info", format: "text"}

	f := r.room("Node")
	f.StringSliceVar(&cfg.DataDirs, "data", cfg.DataDirs, "`directory` for everything that is kept; made when missing. Given more than once, the partitions of the log are spread over all of them, and the first one holds the rest")
	f.Int32Var(&cfg.NodeID, "node-id", cfg.NodeID, "number of this node in its cluster, 1 and up (default: that of the data directory, or the first that is free)")
	f.StringVar(&cfg.ClusterID, "cluster-id", cfg.ClusterID, "refuse a data directory of another cluster than this `id`, and an empty one")
	f.Var(oneOfValue{&logs.level, []string{"debug", "info", "warn", "error"}}, "log-level", "write log lines of this `level` and above: debug, info, warn or error")
	f.Var(oneOfValue{&logs.format, []string{"text", "json"}}, "log-format", "`form` of log lines: text or json")
	f.StringVar(&cfg.DebugHTTP, "debug-http", cfg.DebugHTTP, "`HOST:PORT` that serves Go's profiles to whoever reaches it (default: off)")
	f.String("config", "", "read settings from this TOML `file`: one line per flag, such as http = \":8080\"")

	clusterFlags(r.room("Cluster"), &cfg.Cluster)

	f = r.room("Web (dashboard, API, collecting)")
	f.StringVar(&cfg.HTTP, "http", cfg.HTTP, "`HOST:PORT` of the HTTP listener; :8080 listens on all addresses")
	f.IntVar(&cfg.HTTPMaxConnections, "http-max-connections", cfg.HTTPMaxConnections, "open HTTP connections at most, 1 to 1000000; more wait")
	f.BoolVar(&cfg.Dev, "dev", false, "read the dashboard anew from dashboards/dist for each request")

	f = r.room("Ingest")
	f.Var(prefixesValue{&cfg.TrustedProxies}, "trusted-proxies", "`networks` whose forwarding headers say who the visitor is, separated by commas")
	f.IntVar(&cfg.TrustedHops, "trusted-hops", cfg.TrustedHops, "`number` of proxies in front whose addresses change: that many are believed, counted from this node, beside --trusted-proxies")
	f.StringVar(&cfg.ClientHeader, "client-header", cfg.ClientHeader, "`header` in which a trusted proxy names the visitor's address, before all others, such as CF-Connecting-IP")
	f.StringVar(&cfg.GeoIP, "geoip", cfg.GeoIP, "database of countries, or of cities, an mmdb `file` (default: the DB-IP countries in the binary)")
	f.StringVar(&cfg.GeoIPASN, "geoip-asn", cfg.GeoIPASN, "database of autonomous systems, an mmdb `file` (default: none)")
	f.Var(prefixesValue{&cfg.Rules.Addresses}, "exclude-addresses", "`networks` whose hits are set apart as one's own: office, monitoring")
	f.StringSliceVar(&cfg.Rules.Hosts, "exclude-hosts", cfg.Rules.Hosts, "`hosts` of pages whose hits are set apart, such as staging.*")
	f.StringSliceVar(&cfg.Rules.Paths, "exclude-paths", cfg.Rules.Paths, "`paths` of pages whose hits are set apart, such as /admin/*")
	f.Var(&rangesFileValue{list: &cfg.Rules.DataCentres}, "datacentre-ranges", "`file` of networks where machines stand, one a line; their hits are set apart as bots")
	f.Float64Var(&cfg.Limits.AddressRate, "address-rate", cfg.Limits.AddressRate, "`requests` a second that one address may send; 0 is no limit")
	f.Float64Var(&cfg.Limits.AddressBurst, "address-burst", cfg.Limits.AddressBurst, "`requests` that one address may send at once")
	f.Float64Var(&cfg.Limits.SiteRate, "site-rate", cfg.Limits.SiteRate, "`hits` a second that one site may get from senders without a token; 0 is no limit")
	f.Float64Var(&cfg.Limits.SiteBurst, "site-burst", cfg.Limits.SiteBurst, "`hits` that one site may get at once")
	f.Var(&secretFileValue{secret: &cfg.DubSecret}, "dub-secret-file", "`file` with the secret of Dub's webhook; its signature is checked then")

	f.DurationVar(&cfg.LinkWait, "link-wait", cfg.LinkWait, "`time` that the answer of a short link waits at most until its click is on disk, up to 10s; 0s does not wait")

	f = r.room("Counting")
	f.BoolVar(&cfg.Counting, "counting", cfg.Counting, "count hits; --counting=false only takes them in and keeps them, and a later start without it counts them")

	f = r.room("Log (Kafka protocol)")
	f.StringSliceVar(&cfg.Kafka, "kafka", cfg.Kafka, "`[SCHEME://]HOST:PORT` of a Kafka listener; may be given more than once. Schemes: plaintext (when none is given), ssl, sasl_plaintext, sasl_ssl")
	f.StringSliceVar(&cfg.KafkaAdvertise, "kafka-advertise", cfg.KafkaAdvertise, "`[SCHEME://]HOST:PORT` that clients of that listener are told to dial (default: the address of the listener)")
	f.BoolVar(&cfg.AutoCreate, "auto-create-topics", cfg.AutoCreate, "make a topic when a client asks for one to write to; --auto-create-topics=false makes it an error")
	f.Int32Var(&cfg.Partitions, "default-partitions", cfg.Partitions, "`number` of partitions of a topic that is made without one, 1 to 1000")
	accessFlags(r.room("Who may use the Kafka listeners"), &cfg.KafkaAccess)
	outsideFlags(r.room("A Kafka cluster in place of the built-in log"), &cfg.KafkaBrokers)
	f.Var(daysValue{&cfg.RetainEvents}, "retain-events", "how `long` hits are kept in the log, such as 90d; counts are kept for ever")
	r.bind(c)
}

// clusterFlags binds the flags that say how a node finds the others.
func clusterFlags(f *pflag.FlagSet, c *node.Cluster) {
	f.StringVar(&c.Peer, "peer", c.Peer, "`HOST:PORT` where other nodes of the cluster come in (default: this node is alone)")
	f.StringVar(&c.Advertise, "peer-advertise", c.Advertise, "`HOST:PORT` that other nodes are told to dial (default: that of --peer)")
	f.StringVar(&c.Join, "join", c.Join, "`HOST:PORT` of the --peer of any node, to join its cluster when the data directory is empty")
	f.StringVar(&c.Token, "join-token", c.Token, "`token` with which this node may join, from: weir cluster token")
	f.StringVar(&c.Cert, "peer-tls-cert", c.Cert, "PEM `file` with the certificate that this node shows other nodes (default: the cluster makes one)")
	f.StringVar(&c.Key, "peer-tls-key", c.Key, "PEM `file` with its key")
	f.StringVar(&c.CA, "peer-tls-ca", c.CA, "PEM `file` of who signs the certificates of all nodes")
}

// accessFlags binds the flags that say who may use the Kafka listeners.
func accessFlags(f *pflag.FlagSet, a *node.KafkaAccess) {
	f.StringVar(&a.Cert, "kafka-tls-cert", a.Cert, "PEM `file` with the certificate of the ssl and sasl_ssl listeners; read again when it changes")
	f.StringVar(&a.Key, "kafka-tls-key", a.Key, "PEM `file` with its key")
	f.StringVar(&a.ClientCA, "kafka-tls-client-ca", a.ClientCA, "PEM `file` of who signs the certificates of clients")
	f.Var(oneOfValue{&a.ClientAuth, node.ClientAuths}, "kafka-tls-client-auth", "whether clients show a certificate, whose subject is who they are: none, requested or `required`")
	f.BoolVar(&a.AllowAnonymous, "kafka-allow-anonymous", a.AllowAnonymous, "let strangers use listeners that others than this machine reach")
	f.StringVar(&a.SuperUsers, "kafka-super-users", a.SuperUsers, "`principals` that may do everything, separated by semicolons, such as User:ada;User:CN=backup")
	f.BoolVar(&a.AllowIfNone, "kafka-allow-if-no-acl", a.AllowIfNone, "open what no ACL names to everybody who may connect")
	f.DurationVar(&a.Reauthenticate, "kafka-reauthenticate", a.Reauthenticate, "`time` after which clients log in again on open connections; 0 is never")
}

// outsideFlags binds the flags that say how to reach a Kafka cluster that is the log.
func outsideFlags(f *pflag.FlagSet, o *kafkalog.Options) {
	f.StringSliceVar(&o.Brokers, "kafka-brokers", nil, "`HOST:PORT` of some brokers of a Kafka cluster, separated by commas: hits and counts are kept there, and no Kafka listener is opened here")
	f.BoolVar(&o.TLS, "kafka-brokers-tls", false, "speak TLS with them")
	f.StringVar(&o.CA, "kafka-brokers-ca", "", "PEM `file` of who signs their certificates (default: those that the system trusts)")
	f.StringVar(&o.Cert, "kafka-brokers-cert", "", "PEM `file` with the certificate that this node shows them")
	f.StringVar(&o.Key, "kafka-brokers-key", "", "PEM `file` with its key")
	f.Var(oneOfValue{&o.Mechanism, kafkalog.Mechanisms}, "kafka-brokers-sasl", "`way` to log in: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (default: no log-in)")
	f.StringVar(&o.User, "kafka-brokers-user", "", "`name` to log in with")
	f.Var(&secretFileValue{secret: &o.Password}, "kafka-brokers-password-file", "`file` with its password")
}

func serveCommand() *cobra.Command {
	cfg := node.Default()
	var logs logFlags
	c := &cobra.Command{
		Use: "serve", Short: "Run a node", Args: exactly(0),
		Long: `Run a node: it collects hits, keeps them in its log, counts them and shows the counts. The first start prints a link that
sets up the first account. SIGTERM or Ctrl-C stops it cleanly; a second one stops it at once.`,
		Example: "  weir serve --data /var/lib/weir --http :8080 --kafka 127.0.0.1:9092",
	}
	nodeFlags(c, &cfg, &logs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg.Log = logs.logger(c.ErrOrStderr())
		if len(cfg.KafkaBrokers.Brokers) > 0 {
			for _, flag := range []string{"kafka", "kafka-advertise"} {
				if c.Flags().Changed(flag) {
					return usageError{fmt.Errorf("--%s: no Kafka listener is opened with --kafka-brokers: clients talk to that cluster; leave one of them away", flag)}
				}
			}
		}
		return serve(c.Context(), cfg, c.OutOrStdout(), nil)
	}
	return c
}

// serve opens and runs a node until ctx ends. Once it is ready it calls then, unless that is nil, in a goroutine whose end it awaits.
func serve(ctx context.Context, cfg node.Config, out io.Writer, then func(context.Context, *node.Node) error) error {
	cfg.Version, cfg.Commit = Version().Version, Version().Commit
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	n, err := node.Open(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	greeted := make(chan error, 1)
	go func() {
		greeted <- func() error {
			if !n.WaitReady(ctx) {
				return nil
			}
			greet(out, n, cfg)
			if then == nil {
				return nil
			}
			err := then(ctx, n)
			if err != nil {
				cancel(err)
			}
			return err
		}()
	}()
	err = n.Run(ctx)
	cancel(nil)
	if thenErr := <-greeted; thenErr != nil && err == nil {
		err = thenErr
	}
	if closeErr := n.Close(); err == nil {
		err = closeErr
	}
	return err
}

// greet prints where everything is.
func greet(w io.Writer, n *node.Node, cfg node.Config) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nweir %s is ready\n\n", cfg.Version)
	fmt.Fprintf(&b, "  dashboard  %s\n", n.URL())
	fmt.Fprintf(&b, "  kafka      %s\n", n.KafkaAddr())
	fmt.Fprintf(&b, "  data       %s\n", strings.Join(cfg.DataDirs, ", "))
	if link, ok := n.SetupURL(); ok {
		fmt.Fprintf(&b, "\n  set up the first account with this link, which works once:\n  %s\n", link)
	}
	fmt.Fprintln(&b)
	io.WriteString(w, b.String())
}
