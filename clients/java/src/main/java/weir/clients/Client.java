package weir.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own client as the cases want it: {@code Client HOST:PORT [member GROUP TOPIC]}. One JSON request per line on standard input, one
 * answer per line on standard output. A member prints records instead, and leaves when the input ends.
 */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT = 11 << 20;
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static String seed;

    public static void main(String[] args) throws Exception {
        seed = args[0];
        if (args.length > 1) {
            member(args[2], args[3]);
            return;
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", serve(JSON.readTree(line)));
            } catch (Exception e) {
                Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
                answer.put("error", cause.toString());
            }
            OUT.println(JSON.writeValueAsString(answer));
        }
    }

    private static JsonNode serve(JsonNode q) throws Exception {
        switch (q.get("op").asText()) {
            case "produce": return produce(q);
            case "consume": return consume(q);
            case "offsetAt": return offsetAt(q);
            case "transact": return transact(q);
            default: throw new IllegalArgumentException("no such request: " + q.get("op"));
        }
    }

    /** How to log in over TLS, where the environment says so. */
    private static void access(Map<String, Object> config) {
        String ca = System.getenv("CLIENTS_CA");
        if (ca == null) {
            return;
        }
        config.put("security.protocol", "SASL_SSL");
        config.put("ssl.truststore.type", "PEM");
        config.put("ssl.truststore.location", ca);
        config.put("sasl.mechanism", "SCRAM-SHA-512");
        config.put("sasl.jaas.config", "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"" + System.getenv("CLIENTS_USER")
                + "\" password=\"" + System.getenv("CLIENTS_PASSWORD") + "\";");
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(more);
        access(config);
        config.put("bootstrap.servers", seed);
        config.put("max.request.size", LIMIT);
        config.put("max.block.ms", 30_000);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(more);
        access(config);
        config.put("bootstrap.servers", seed);
        config.put("enable.auto.commit", false);
        config.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static JsonNode produce(JsonNode q) throws Exception {
        Map<String, Object> config = Map.of("compression.type", q.get("codec").asText(), "enable.idempotence", q.get("idempotent").asBoolean(), "linger.ms", 50);
        try (KafkaProducer<byte[], byte[]> p = producer(config)) {
            List<Future<?>> sent = new ArrayList<>();
            for (JsonNode r : q.get("records")) {
                Long time = r.get("time").asLong() == 0 ? null : r.get("time").asLong();
                ProducerRecord<byte[], byte[]> record =
                        new ProducerRecord<>(q.get("topic").asText(), q.get("partition").asInt(), time, bytes(r.get("key")), bytes(r.get("value")));
                if (r.hasNonNull("headers")) {
                    for (JsonNode h : r.get("headers")) {
                        record.headers().add(h.get("key").asText(), bytes(h.get("value")));
                    }
                }
                sent.add(p.send(record));
            }
            for (Future<?> f : sent) {
                f.get();
            }
        }
        return JSON.nullNode();
    }

    private static JsonNode consume(JsonNode q) {
        TopicPartition partition = new TopicPartition(q.get("topic").asText(), q.get("partition").asInt());
        ArrayNode got = JSON.createArrayNode();
        try (KafkaConsumer<byte[], byte[]> c = consumer(Map.of())) {
            c.assign(List.of(partition));
            c.seek(partition, q.get("offset").asLong());
            long end = System.nanoTime() + Duration.ofSeconds(100).toNanos();
            while (got.size() < q.get("n").asInt() && System.nanoTime() < end) {
                for (ConsumerRecord<byte[], byte[]> r : c.poll(Duration.ofMillis(500))) {
                    if (got.size() < q.get("n").asInt()) {
                        got.add(json(r));
                    }
                }
            }
        }
        return got;
    }

    private static JsonNode offsetAt(JsonNode q) {
        TopicPartition partition = new TopicPartition(q.get("topic").asText(), q.get("partition").asInt());
        try (KafkaConsumer<byte[], byte[]> c = consumer(Map.of())) {
            var found = c.offsetsForTimes(Map.of(partition, q.get("at").asLong())).get(partition);
            return JSON.getNodeFactory().numberNode(found == null ? -1 : found.offset());
        }
    }

    private static JsonNode transact(JsonNode q) throws Exception {
        String topic = q.get("topic").asText();
        try (KafkaProducer<byte[], byte[]> p = producer(Map.of("transactional.id", "txn-" + topic))) {
            p.initTransactions();
            for (JsonNode txn : q.get("txns")) {
                p.beginTransaction();
                p.send(new ProducerRecord<>(topic, txn.get("value").asText().getBytes(StandardCharsets.UTF_8))).get();
                p.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(txn.get("at").asLong())),
                        new ConsumerGroupMetadata(q.get("group").asText()));
                if (txn.get("commit").asBoolean()) {
                    p.commitTransaction();
                } else {
                    p.abortTransaction();
                }
            }
        }
        return JSON.nullNode();
    }

    private static void member(String group, String topic) throws Exception {
        KafkaConsumer<byte[], byte[]> c = consumer(Map.of("group.id", group, "session.timeout.ms", 6000, "heartbeat.interval.ms", 1000));
        Thread main = Thread.currentThread();
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // only its end says something
                }
            } catch (java.io.IOException e) {
                main.interrupt();
            }
            c.wakeup();
        });
        watch.setDaemon(true);
        watch.start();
        try (c) {
            c.subscribe(List.of(topic));
            while (true) {
                for (ConsumerRecord<byte[], byte[]> r : c.poll(Duration.ofSeconds(1))) {
                    OUT.println(JSON.writeValueAsString(json(r)));
                    c.commitSync(Map.of(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1)));
                }
            }
        } catch (WakeupException e) {
            // leaves with close
        }
    }

    private static byte[] bytes(JsonNode base64) {
        return base64 == null || base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static JsonNode base64(byte[] bytes) {
        return bytes == null ? JSON.nullNode() : JSON.getNodeFactory().textNode(Base64.getEncoder().encodeToString(bytes));
    }

    private static ObjectNode json(ConsumerRecord<byte[], byte[]> r) {
        ObjectNode doc = JSON.createObjectNode();
        doc.set("key", base64(r.key()));
        doc.set("value", base64(r.value()));
        ArrayNode headers = doc.putArray("headers");
        for (Header h : r.headers()) {
            headers.addObject().put("key", h.key()).set("value", base64(h.value()));
        }
        doc.put("time", r.timestamp());
        doc.put("offset", r.offset());
        return doc;
    }
}
