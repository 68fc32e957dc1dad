import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;

/** Sends a POST of so many bytes to an address, once with its length and once in chunks. Prints the status that each got. */
public class Upload {
  public static void main(String[] arguments) throws Exception {
    int size = Integer.parseInt(arguments[1]);
    for (boolean chunked : new boolean[] {false, true}) {
      HttpURLConnection connection = (HttpURLConnection) URI.create(arguments[0]).toURL().openConnection();
      connection.setRequestMethod("POST");
      connection.setDoOutput(true);
      connection.setRequestProperty("Content-Type", "application/json");
      if (chunked) connection.setChunkedStreamingMode(65536);
      else connection.setFixedLengthStreamingMode(size);
      byte[] part = new byte[65536];
      try (OutputStream out = connection.getOutputStream()) {
        for (int sent = 0; sent < size; sent += part.length) out.write(part, 0, Math.min(part.length, size - sent));
      }
      System.out.println(connection.getResponseCode());
    }
  }
}
