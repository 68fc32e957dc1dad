import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Creates a client, and lists the post productions with a fade. BASE is the address of the API, KEY its key. */
class Clients {
  private static final String API = System.getenv("BASE") + "/api/v2";

  public static void main(String[] args) throws Exception {
    send(request("/clients").POST(BodyPublishers.ofString("{\"name\": \"Acme\"}")));
    send(request("/orders/post_productions?highlight_type=fade").GET());
    System.out.println("done");
  }

  private static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(API + path))
        .header("Authorization", "Bearer " + System.getenv("KEY"))
        .header("x-api-version", "2025-01-01")
        .header("Content-Type", "application/json");
  }

  private static void send(HttpRequest.Builder request) throws Exception {
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
    if (response.statusCode() >= 300) throw new IllegalStateException(response.statusCode() + " " + response.body());
  }
}
