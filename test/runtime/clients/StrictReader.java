import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A V1 integration as many are: classes for V1's responses, and a mapper that fails on a member that no class has (Jackson's default), on one that is
 * missing, twice, or of another type. Errors may have the gateway's own code and position. Reads a file of responses, one a line: method, tab, target, tab, status, tab, body. Prints those that it cannot read.
 */
public class StrictReader {
  record Envelope<T>(@JsonProperty(required = true) T data) {}

  record Page<T>(@JsonProperty(required = true) List<T> data, @JsonProperty(required = true) PageMeta meta) {}

  record PageMeta(
      @JsonProperty(required = true) int page,
      @JsonProperty(value = "per_page", required = true) int perPage,
      @JsonProperty(required = true) int total,
      @JsonProperty(value = "total_pages", required = true) int totalPages) {}

  record Errors(@JsonProperty(required = true) List<Fault> errors, Meta meta) {}

  record Fault(
      @JsonProperty(required = true) String status,
      @JsonProperty(required = true) String title,
      @JsonProperty(required = true) String detail,
      String code,
      Source source,
      Position meta) {}

  /** Where the gateway found a fault in a body. */
  record Position(@JsonProperty(required = true) int offset, @JsonProperty(required = true) int line, @JsonProperty(required = true) int column, String reason) {}

  record Source(String pointer, String parameter) {}

  record Meta(@JsonProperty(required = true) int reset) {}

  record Heartbeat() {}

  record Client(@JsonProperty(required = true) long id, @JsonProperty(required = true) String name, String email, String phone,
      String external_reference, String notes) {}

  record Contact(@JsonProperty(required = true) long id, String name, String first_name, String last_name, String email, String phone,
      String role, Long client_id, String external_reference, String notes) {}

  record ClientOfProperty(Long id, String name, String external_reference) {}

  record Property(Long id, String display_name, String external_reference, String property_type, ClientOfProperty client,
      String street_address, String suburb, String state, String postcode, String country, Double latitude, Double longitude) {}

  record Booking(@JsonProperty(required = true) long id, Long property_id, Property property, Long client_id, Long contact_id,
      String external_id, String external_reference, String scheduled_at, List<String> services, String notes) {}

  record FloorPlanOrder(@JsonProperty(required = true) long id, Long property_id, Property property, Long client_id, String external_id,
      String external_reference, String notes) {}

  record PostProductionOrder(@JsonProperty(required = true) long id, Long property_id, Property property, Long client_id,
      String external_id, String external_reference, String transition_type, String notes) {}

  record VirtualTour(@JsonProperty(required = true) long id, Long property_id, Property property, Long client_id, String name,
      String display_name, String external_id, String external_reference, String notes) {}

  static final Map<String, Class<?>> RESOURCES = Map.of(
      "clients", Client.class,
      "contacts", Contact.class,
      "bookings", Booking.class,
      "orders/floor_plans", FloorPlanOrder.class,
      "orders/post_productions", PostProductionOrder.class,
      "virtual_tours", VirtualTour.class,
      "properties", Property.class,
      "heartbeat", Heartbeat.class);

  static final ObjectMapper MAPPER = JsonMapper.builder()
      .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS, DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
      .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
      .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
      .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
      .build();

  public static void main(String[] arguments) throws Exception {
    int read = 0;
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      String[] parts = line.split("\t", 4);
      String target = parts[1];
      int status = Integer.parseInt(parts[2]);
      try {
        if (parts[0].equals("HEAD") || status == 204) {
          if (!parts[3].isEmpty()) System.out.println(parts[0] + " " + target + ": has a body");
        } else {
          MAPPER.readValue(parts[3], typeOf(target, status, parts[0]));
        }
        read++;
      } catch (JsonProcessingException fault) {
        System.out.println(parts[0] + " " + target + " " + status + ": " + fault.getOriginalMessage() + " in " + parts[3]);
      }
    }
    System.out.println(read + " responses read");
  }

  static JavaType typeOf(String target, int status, String method) {
    var types = MAPPER.getTypeFactory();
    if (status >= 400) return types.constructType(Errors.class);
    String path = URLDecoder.decode(target, StandardCharsets.UTF_8).replaceFirst("\\?.*", "").replaceFirst("/?(\\.json)?$", "").replaceFirst("^/api/v1/", "");
    boolean isOne = path.matches(".*/[^/]*\\d[^/]*|.*/\\$.*");
    String collection = isOne ? path.replaceFirst("/[^/]+$", "") : path;
    Class<?> resource = RESOURCES.get(collection);
    boolean isPage = method.equals("GET") && !isOne && resource != Heartbeat.class;
    return types.constructParametricType(isPage ? Page.class : Envelope.class, resource);
  }
}
