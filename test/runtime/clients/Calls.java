import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.net.CookieManager;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Plays the calls in a JSON file (argument 2) with a library (argument 1) to each address that follows: see calls.py. */
public class Calls {
  record Call(String method, String address, List<String[]> fields, byte[] body, boolean chunked) {}

  interface Library {
    List<Object> send(Call call) throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    JsonNode calls = json.readTree(new File(arguments[1]));
    for (String base : Arrays.copyOfRange(arguments, 2, arguments.length)) {
      Library library = arguments[0].equals("HttpClient") ? httpClient() : Calls::httpUrlConnection;
      String tag = "";
      for (JsonNode row : calls) {
        List<String[]> fields = new ArrayList<>();
        for (JsonNode field : row.get("fields"))
          fields.add(new String[] {field.get(0).asText(), field.get(1).asText().replace("{etag}", tag)});
        byte[] body = row.get("body").isNull() ? null : Files.readAllBytes(Path.of(row.get("body").asText()));
        Call call = new Call(row.get("method").asText(), base + row.get("path").asText(), fields, body, row.get("chunked").asBoolean());
        try {
          List<Object> response = library.send(call);
          for (Object field : (List<?>) response.get(1)) {
            String[] pair = (String[]) field;
            if (pair[0].equalsIgnoreCase("etag")) tag = pair[1];
          }
          System.out.println(json.writeValueAsString(response));
        } catch (Exception error) {
          System.out.println(json.writeValueAsString(error.getClass().getSimpleName()));
        }
      }
    }
    System.exit(0);
  }

  /** The default offers h2c with the first request, as old integrations do without knowing. */
  static Library httpClient() {
    HttpClient client = HttpClient.newBuilder().cookieHandler(new CookieManager()).followRedirects(HttpClient.Redirect.NORMAL).build();
    return call -> {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(call.address)).timeout(Duration.ofSeconds(20));
      for (String[] field : call.fields) request.header(field[0], field[1]);
      request.method(call.method, call.body == null ? BodyPublishers.noBody()
          : call.chunked ? BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(call.body))
          : BodyPublishers.ofByteArray(call.body));
      HttpResponse<byte[]> response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
      return List.of(response.statusCode(), pairs(response.headers().map()), response.body());
    };
  }

  static List<Object> httpUrlConnection(Call call) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) URI.create(call.address).toURL().openConnection();
    // It knows no PATCH: its users set the name behind its back, as Jersey does.
    Field method = HttpURLConnection.class.getDeclaredField("method");
    method.setAccessible(true);
    method.set(connection, call.method);
    connection.setReadTimeout(20_000);
    for (String[] field : call.fields) connection.addRequestProperty(field[0], field[1]);
    if (call.body != null) {
      connection.setDoOutput(true);
      if (call.chunked) connection.setChunkedStreamingMode(1000);
      try (OutputStream out = connection.getOutputStream()) {
        out.write(call.body);
      }
    }
    int status = connection.getResponseCode();
    try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      return List.of(status, pairs(connection.getHeaderFields()), in == null ? new byte[0] : in.readAllBytes());
    }
  }

  static List<String[]> pairs(Map<String, List<String>> fields) {
    List<String[]> pairs = new ArrayList<>();
    fields.forEach((name, values) -> {
      if (name != null) for (String value : values) pairs.add(new String[] {name, value});
    });
    return pairs;
  }
}
