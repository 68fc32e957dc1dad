import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.LocalDate;
import java.util.List;

/**
 * A V1 client in Java, as code generators write them: an unknown or missing member, or one of another type, ends it with status 1.
 *
 * <p>java -cp 'jackson-core.jar:jackson-databind.jar:jackson-annotations.jar' BillsClient.java http://127.0.0.1:8080/api/v1
 */
public final class BillsClient {
  enum Status {
    open,
    paid,
    @JsonProperty("void")
    cancelled
  }

  record Bill(
      @JsonProperty(value = "id", required = true) long id,
      @JsonProperty(value = "name", required = true) String name,
      @JsonProperty(value = "customer_name", required = true) String customerName,
      @JsonProperty(value = "customer_email", required = true) String customerEmail,
      @JsonProperty(value = "amount", required = true) BigDecimal amount,
      @JsonProperty(value = "status", required = true) Status status,
      @JsonProperty(value = "due", required = true) String due) {
    Bill {
      if (due != null) LocalDate.parse(due);
    }
  }

  record Page(
      @JsonProperty(value = "bills", required = true) List<Bill> bills,
      @JsonProperty(value = "page", required = true) int page,
      @JsonProperty(value = "total_pages", required = true) int totalPages) {}

  record Line(
      @JsonProperty(value = "id", required = true) long id,
      @JsonProperty(value = "bill_id", required = true) long billId,
      @JsonProperty(value = "description", required = true) String description,
      @JsonProperty(value = "amount", required = true) BigDecimal amount) {}

  record Problem(
      @JsonProperty(value = "type", required = true) String type,
      @JsonProperty(value = "title", required = true) String title,
      @JsonProperty(value = "status", required = true) int status,
      @JsonProperty(value = "detail", required = true) String detail) {}

  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .build();

  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final String base;

  private BillsClient(String base) {
    this.base = base;
  }

  public static void main(String[] arguments) throws Exception {
    var client = new BillsClient(arguments[0]);
    long first =
        client.send(
                "POST",
                "/bills",
                "{\"name\":\"May\",\"customer_name\":\"Ann\",\"customer_email\":\"ann@example.com\",\"amount\":10.50,\"status\":\"open\",\"due\":\"2026-12-01\",\"fax\":\"1\"}",
                Bill.class)
            .id();
    client.send("POST", "/bills", "{\"amount\":7,\"customer_name\":\"Zo\u00eb\"}", Bill.class);
    client.send("POST", "/bills", "{\"customer_name\":\"Bo\",\"amount\":0.05,\"status\":\"void\"}", Bill.class);
    client.send("POST", "/bills", "{\"customer_name\":\"Bo\",\"amount\":\"ten\"}", Problem.class);
    client.send("GET", "/bills/" + first, null, Bill.class);
    client.send("GET", "/bills?page=2&per_page=1&status=open", null, Page.class);
    client.send("GET", "/bills", null, Page.class);
    client.send("GET", "/bills/" + first + "/lines", null, Line[].class);
    client.send(
        "PUT",
        "/bills/" + first,
        "{\"customer_name\":\"Ann\",\"amount\":10.5,\"status\":\"paid\"}",
        Bill.class);
    client.send("DELETE", "/bills/" + first, null, Void.class);
    client.send("GET", "/bills/" + first, null, Problem.class);
  }

  private <T> T send(String method, String path, String body, Class<T> type) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(base + path)).header("X-Account", "java");
    if (body != null) request.header("Content-Type", "application/json");
    var publisher = body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
    HttpResponse<String> response =
        HTTP.send(request.method(method, publisher).build(), BodyHandlers.ofString());
    T value = type == Void.class ? null : JSON.readValue(response.body(), type);
    Object shown = value instanceof Object[] list ? List.of(list) : value;
    String location = response.headers().firstValue("Location").orElse("-");
    System.out.println(method + " " + path + " " + response.statusCode() + " " + location + " " + shown);
    return value;
  }
}
