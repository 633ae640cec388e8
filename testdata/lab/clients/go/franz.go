package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type franz struct {
	client *kgo.Client
	told   []*result
}

func newFranz(s settings) (producer, error) {
	codecs := map[string]kgo.CompressionCodec{
		"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, known := codecs[s["compression.type"]]
	if !known {
		return nil, fmt.Errorf("no codec %q", s["compression.type"])
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s["bootstrap.servers"]), kgo.ProducerBatchCompression(codec),
		kgo.ProducerLinger(s.millis("linger.ms", 5*time.Millisecond)), kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
		kgo.ProduceRequestTimeout(s.millis("request.timeout.ms", 10*time.Second)),
		kgo.RecordDeliveryTimeout(s.millis("delivery.timeout.ms", 60*time.Second)),
		kgo.RecordPartitioner(asTold{kgo.StickyKeyPartitioner(nil)}),
	}
	if n := s.number("batch.size", 0); n > 0 {
		options = append(options, kgo.ProducerBatchMaxBytes(int32(n)))
	}
	if !s.idempotent() {
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(s.number("max.in.flight.requests.per.connection", 5)))
		if s["acks"] == "1" {
			options = append(options, kgo.RequiredAcks(kgo.LeaderAck()))
		}
		if s["acks"] == "0" {
			options = append(options, kgo.RequiredAcks(kgo.NoAck()))
		}
	}
	if s["transactional.id"] != "" {
		options = append(options, kgo.TransactionalID(s["transactional.id"]))
	}
	client, err := kgo.NewClient(options...)
	return &franz{client: client}, err
}

// asTold takes the partition that a record names, and otherwise what Kafka's partitioner chooses.
type asTold struct{ otherwise kgo.Partitioner }

func (p asTold) ForTopic(topic string) kgo.TopicPartitioner {
	return asToldTopic{p.otherwise.ForTopic(topic)}
}

type asToldTopic struct{ kgo.TopicPartitioner }

func (p asToldTopic) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

func (f *franz) send(r record) {
	at := &result{Error: "unanswered"}
	f.told = append(f.told, at)
	out := &kgo.Record{Topic: r.Topic, Partition: -1, Key: bytesOf(r.Key), Value: bytesOf(r.Value)}
	if r.Partition != nil {
		out.Partition = *r.Partition
	}
	if r.Time != nil {
		out.Timestamp = time.UnixMilli(*r.Time)
	}
	for name, value := range r.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	f.client.Produce(context.Background(), out, func(stored *kgo.Record, err error) {
		if err != nil {
			at.Error = err.Error()
			return
		}
		*at = result{Partition: stored.Partition, Offset: stored.Offset}
	})
}

func (f *franz) finish() []result {
	waiting, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := f.client.Flush(waiting); err != nil {
		f.client.AbortBufferedRecords(context.Background())
	}
	results := make([]result, 0, len(f.told))
	for _, at := range f.told {
		results = append(results, *at)
	}
	f.told = nil
	return results
}

func (f *franz) begin() error { return f.client.BeginTransaction() }

func (f *franz) end(commit bool) error {
	return f.client.EndTransaction(context.Background(), kgo.TransactionEndTry(commit))
}

func (f *franz) close() { f.client.Close() }
