package main

import (
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

type saramaProducer struct {
	inner sarama.AsyncProducer
	told  []*result
	left  int
}

func newSarama(s settings) (producer, error) {
	codecs := map[string]sarama.CompressionCodec{
		"": sarama.CompressionNone, "none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}
	codec, known := codecs[s["compression.type"]]
	if !known {
		return nil, fmt.Errorf("no codec %q", s["compression.type"])
	}
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	if old, err := sarama.ParseKafkaVersion(s["sarama.version"]); err == nil {
		config.Version = old
	}
	config.Producer.Return.Successes, config.Producer.Return.Errors = true, true
	config.Producer.Compression = codec
	config.Producer.Partitioner = newAsTold
	config.Producer.Flush.Frequency = s.millis("linger.ms", 5*time.Millisecond)
	config.Producer.Flush.Bytes = s.number("batch.size", 16384)
	config.Producer.Timeout = s.millis("request.timeout.ms", 10*time.Second)
	config.Net.ReadTimeout = s.millis("request.timeout.ms", 30*time.Second)
	config.Producer.Retry.Max = s.number("retries", 20)
	config.Producer.RequiredAcks = sarama.WaitForAll
	if s.idempotent() {
		config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
		config.Producer.Transaction.ID = s["transactional.id"]
	} else if s["acks"] == "1" {
		config.Producer.RequiredAcks = sarama.WaitForLocal
	} else if s["acks"] == "0" {
		config.Producer.RequiredAcks = sarama.NoResponse
	}
	inner, err := sarama.NewAsyncProducer([]string{s["bootstrap.servers"]}, config)
	if err != nil {
		return nil, err
	}
	p := &saramaProducer{inner: inner}
	return p, nil
}

// asToldSarama takes the partition that a record names, and otherwise what its key says.
type asToldSarama struct{ otherwise sarama.Partitioner }

func newAsTold(topic string) sarama.Partitioner {
	return asToldSarama{sarama.NewHashPartitioner(topic)}
}

func (p asToldSarama) Partition(m *sarama.ProducerMessage, n int32) (int32, error) {
	if m.Metadata.(*sent).told {
		return m.Partition, nil
	}
	return p.otherwise.Partition(m, n)
}

func (p asToldSarama) RequiresConsistency() bool { return true }

// sent is what a message carries along.
type sent struct {
	at   *result
	told bool // the record names its partition
}

func (p *saramaProducer) send(r record) {
	at := &result{Error: "unanswered"}
	p.told = append(p.told, at)
	out := &sarama.ProducerMessage{Topic: r.Topic, Metadata: &sent{at, r.Partition != nil}}
	if r.Key != nil {
		out.Key = sarama.StringEncoder(*r.Key)
	}
	if r.Value != nil {
		out.Value = sarama.StringEncoder(*r.Value)
	}
	if r.Partition != nil {
		out.Partition = *r.Partition
	}
	if r.Time != nil {
		out.Timestamp = time.UnixMilli(*r.Time)
	}
	for name, value := range r.Headers {
		out.Headers = append(out.Headers, sarama.RecordHeader{Key: []byte(name), Value: []byte(value)})
	}
	p.left++
	for {
		select {
		case p.inner.Input() <- out:
			return
		case stored := <-p.inner.Successes():
			p.stored(stored, nil)
		case failed := <-p.inner.Errors():
			p.stored(failed.Msg, failed.Err)
		}
	}
}

func (p *saramaProducer) stored(m *sarama.ProducerMessage, err error) {
	p.left--
	at := m.Metadata.(*sent).at
	if err != nil {
		at.Error = err.Error()
		return
	}
	*at = result{Partition: m.Partition, Offset: m.Offset}
}

func (p *saramaProducer) finish() []result {
	timeout := time.After(60 * time.Second)
	for p.left > 0 {
		select {
		case stored := <-p.inner.Successes():
			p.stored(stored, nil)
		case failed := <-p.inner.Errors():
			p.stored(failed.Msg, failed.Err)
		case <-timeout:
			p.left = 0
		}
	}
	results := make([]result, 0, len(p.told))
	for _, at := range p.told {
		results = append(results, *at)
	}
	p.told = nil
	return results
}

func (p *saramaProducer) begin() error { return p.inner.BeginTxn() }

func (p *saramaProducer) end(commit bool) error {
	if commit {
		return p.inner.CommitTxn()
	}
	return p.inner.AbortTxn()
}

func (p *saramaProducer) close() {
	if err := p.inner.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
