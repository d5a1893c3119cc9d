// The cold tier's job in Kafka Streams: observations in, for every one of them a seasonal-naive forecast out, exactly once. The
// past of each series is in a state store with a changelog. Leaves out what the worker does beyond that: scores, calibration,
// persistence for young series, and rules for late points and gaps (a gap starts the past anew).
//
// Arguments are name=value: bootstrap, application, input, forecasts, schemas (folder), threads, store (in-memory or rocksdb),
// commitMs and stateDir. Prints "ready" once it runs, and ends when its standard input closes.

import static org.apache.kafka.streams.CloseOptions.GroupMembershipOperation.LEAVE_GROUP;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

public final class ColdTier {
  static final int HORIZON = 24;
  static final int SEASON = 24;
  static final long STEP_MS = 60_000;
  static final double[] LEVELS = {0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975};
  /** The band comes from the errors of at most as many last steps, and there is no forecast with fewer than FEWEST_ERRORS. */
  static final int MOST_ERRORS = 100;
  static final int FEWEST_ERRORS = 30;
  static final int PAUSE_MS = 1_200_000;
  static final String METHOD = "seasonal-naive";
  static final String VERSION = "seasonal-naive-2";
  static final String STORE = "past";

  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>();
    for (String arg : args) options.put(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
    KafkaStreams streams = new KafkaStreams(topologyOf(options), settingsOf(options));
    streams.setStateListener((now, before) -> {
      if (now == KafkaStreams.State.RUNNING) System.out.println("ready");
      // The bench must not wait for a rival that has stopped working.
      if (now == KafkaStreams.State.ERROR) Runtime.getRuntime().halt(1);
    });
    streams.start();
    while (System.in.read() >= 0) continue;
    // Without leaving the group, its successor would wait until the session ends.
    streams.close(CloseOptions.groupMembershipOperation(LEAVE_GROUP).withTimeout(Duration.ofSeconds(10)));
  }

  static Properties settingsOf(Map<String, String> options) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, options.get("application"));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, options.get("threads"));
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, options.get("commitMs"));
    settings.put(StreamsConfig.STATE_DIR_CONFIG, options.get("stateDir"));
    settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    // The bench pauses the process when it is not its turn; it must not lose its partitions by that.
    settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), PAUSE_MS);
    settings.put(StreamsConfig.consumerPrefix("max.poll.interval.ms"), PAUSE_MS);
    return settings;
  }

  static Topology topologyOf(Map<String, String> options) throws IOException {
    Schema observation = new Schema.Parser().parse(new File(options.get("schemas"), "Observation.avsc"));
    Schema forecast = new Schema.Parser().parse(new File(options.get("schemas"), "single/Forecast.avsc"));
    KeyValueBytesStoreSupplier store =
        options.get("store").equals("rocksdb")
            ? Stores.persistentKeyValueStore(STORE)
            : Stores.inMemoryKeyValueStore(STORE);
    Serializer<Target> targetKey = (topic, target) -> target.seriesId().getBytes();
    StreamPartitioner<Target, byte[]> sameAsInput =
        (topic, target, value, partitions) -> Optional.of(Set.of(target.partition() % partitions));
    return new Topology()
        .addSource("observations", Serdes.String().deserializer(), Serdes.ByteArray().deserializer(), options.get("input"))
        .addProcessor("forecaster", () -> new Forecaster(observation, forecast), "observations")
        .addStateStore(
            // With the cache, a series that moves several times between two commits goes to the changelog once.
            Stores.keyValueStoreBuilder(store, Serdes.String(), Past.SERDE).withCachingEnabled()
                // The bench counts the changelog's bytes: no segment may be compacted during a run.
                .withLoggingEnabled(Map.of("segment.bytes", "1073741824")),
            "forecaster")
        .addSink("forecasts", options.get("forecasts"), targetKey, Serdes.ByteArray().serializer(), sameAsInput, "forecaster");
  }

  /** Key of a forecast. As the worker does, the rival writes to the partition that the observation came from. */
  record Target(String seriesId, int partition) {}

  static final class Forecaster implements Processor<String, byte[], Target, byte[]> {
    final BinaryMessageDecoder<GenericRecord> decoder;
    final BinaryMessageEncoder<GenericRecord> encoder;
    final Schema schema;
    final Schema quantileSchema;
    final GenericData.EnumSymbol cold;
    ProcessorContext<Target, byte[]> context;
    KeyValueStore<String, Past> store;

    Forecaster(Schema observation, Schema forecast) {
      decoder = new BinaryMessageDecoder<>(GenericData.get(), observation);
      encoder = new BinaryMessageEncoder<>(GenericData.get(), forecast);
      schema = forecast;
      quantileSchema = forecast.getField("quantiles").schema().getElementType();
      cold = new GenericData.EnumSymbol(forecast.getField("tier").schema(), "COLD");
    }

    @Override
    public void init(ProcessorContext<Target, byte[]> context) {
      this.context = context;
      store = context.getStateStore(STORE);
    }

    @Override
    public void process(Record<String, byte[]> input) {
      try {
        GenericRecord observation = decoder.decode(input.value());
        String seriesId = observation.get("seriesId").toString();
        long timeMs = (Long) observation.get("time");
        Past past = store.get(seriesId);
        if (past != null && timeMs <= past.lastMs()) return;
        past = Past.append(past, timeMs, (Double) observation.get("value"));
        store.put(seriesId, past);
        if (past.values().length < SEASON + FEWEST_ERRORS) return;
        byte[] forecast = encoder.encode(forecastOf(seriesId, past)).array();
        context.forward(new Record<>(new Target(seriesId, context.taskId().partition()), forecast, input.timestamp()));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    GenericRecord forecastOf(String seriesId, Past past) {
      double[] errors = past.seasonalErrors();
      double squares = 0;
      for (double error : errors) squares += error * error;
      double standardDeviation = Math.sqrt(squares / errors.length);
      Arrays.sort(errors);
      double median = quantileOf(errors, 0.5);
      List<Long> times = new ArrayList<>(HORIZON);
      List<Float> mean = new ArrayList<>(HORIZON);
      List<Float> deviations = new ArrayList<>(HORIZON);
      double[] means = past.lastSeason();
      for (int h = 0; h < HORIZON; h++) {
        times.add(past.lastMs() + (h + 1) * STEP_MS);
        mean.add((float) means[h % SEASON]);
        deviations.add((float) (standardDeviation * growthAt(h)));
      }
      List<GenericRecord> quantiles = new ArrayList<>(LEVELS.length);
      for (double level : LEVELS) {
        double error = quantileOf(errors, level) - median;
        List<Float> values = new ArrayList<>(HORIZON);
        for (int h = 0; h < HORIZON; h++) values.add((float) (means[h % SEASON] + error * growthAt(h)));
        GenericRecord quantile = new GenericData.Record(quantileSchema);
        quantile.put("level", level);
        quantile.put("values", values);
        quantiles.add(quantile);
      }
      GenericRecord forecast = new GenericData.Record(schema);
      forecast.put("id", seriesId + "@" + past.lastMs() + "/" + VERSION);
      forecast.put("seriesId", seriesId);
      forecast.put("origin", past.lastMs());
      forecast.put("interval", "PT1M");
      forecast.put("horizon", HORIZON);
      forecast.put("channels", 1);
      forecast.put("times", times);
      forecast.put("mean", mean);
      forecast.put("standardDeviation", deviations);
      forecast.put("quantiles", quantiles);
      forecast.put("tier", cold);
      forecast.put("method", METHOD);
      forecast.put("modelKey", seriesId);
      forecast.put("modelVersion", VERSION);
      forecast.put("filledShare", 0.0);
      forecast.put("freshSteps", past.steps());
      forecast.put("skippedOrigins", 0);
      return forecast;
    }

    /** Spread of a random walk from season to season: √k in the k-th season ahead. */
    static double growthAt(int h) {
      return Math.sqrt(h / SEASON + 1);
    }

    /** Linear between the order statistics on both sides of position level × (count − 1). */
    static double quantileOf(double[] sorted, double level) {
      double position = level * (sorted.length - 1);
      int below = (int) position;
      int above = Math.min(below + 1, sorted.length - 1);
      return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
    }
  }

  /** Unbroken steps that end at lastMs: how many there were, and the last values, as many as a forecast needs. */
  record Past(long lastMs, int steps, double[] values) {
    static final int MOST_VALUES = SEASON + MOST_ERRORS;

    static Past append(Past past, long timeMs, double value) {
      if (past == null || timeMs != past.lastMs + STEP_MS) return new Past(timeMs, 1, new double[] {value});
      int kept = Math.min(past.values.length, MOST_VALUES - 1);
      double[] values = new double[kept + 1];
      System.arraycopy(past.values, past.values.length - kept, values, 0, kept);
      values[kept] = value;
      return new Past(timeMs, past.steps + 1, values);
    }

    double[] lastSeason() {
      return Arrays.copyOfRange(values, values.length - SEASON, values.length);
    }

    /** The errors that "the same as one season ago" made. */
    double[] seasonalErrors() {
      double[] errors = new double[values.length - SEASON];
      for (int i = 0; i < errors.length; i++) errors[i] = values[i + SEASON] - values[i];
      return errors;
    }

    static final Serde<Past> SERDE = Serdes.serdeFrom(serializer(), deserializer());

    private static Serializer<Past> serializer() {
      return (topic, past) -> {
        if (past == null) return null;
        ByteBuffer bytes = ByteBuffer.allocate(12 + 8 * past.values.length);
        bytes.putLong(past.lastMs).putInt(past.steps);
        bytes.asDoubleBuffer().put(past.values);
        return bytes.array();
      };
    }

    private static Deserializer<Past> deserializer() {
      return (topic, data) -> {
        if (data == null) return null;
        ByteBuffer bytes = ByteBuffer.wrap(data);
        long lastMs = bytes.getLong();
        int steps = bytes.getInt();
        double[] values = new double[bytes.remaining() / 8];
        bytes.asDoubleBuffer().get(values);
        return new Past(lastMs, steps, values);
      };
    }
  }
}
