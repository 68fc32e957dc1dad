import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;

/** Sends the requests in a file, one a line: method, tab, address, tab, body. Prints each status and body. */
public class Client {
  public static void main(String[] arguments) throws Exception {
    // The default offers h2c with the first request, as old integrations do without knowing.
    HttpClient client = HttpClient.newHttpClient();
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      String[] parts = line.split("\t", 3);
      HttpRequest request = HttpRequest.newBuilder(URI.create(parts[1]))
          .header("Authorization", "Bearer java")
          .header("Content-Type", "application/json")
          .method(parts[0], HttpRequest.BodyPublishers.ofString(parts[2]))
          .build();
      HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      System.out.println(answer.statusCode() + " " + answer.body());
    }
  }
}
