<?php
// Plays the calls in a JSON file (argument 2) with a library (argument 1) to each address that follows: see calls.py.

ini_set('display_errors', 'stderr');
[, $library, $file] = $argv;
$lines = fn ($fields) => array_map(fn ($field) => $field[1] === '' ? "$field[0];" : "$field[0]: $field[1]", $fields);

/** The fields of the last head among lines that may be of several. */
function pairs(array $lines): array
{
    $pairs = [];
    foreach ($lines as $line) {
        if (str_starts_with($line, 'HTTP/')) $pairs = [];
        elseif (str_contains($line, ':')) $pairs[] = array_map('trim', explode(':', $line, 2));
    }
    return $pairs;
}

function curl(): callable
{
    global $lines;
    $curl = curl_init();
    return function ($method, $address, $fields, $body, $chunked) use ($curl, $lines) {
        curl_reset($curl);
        $head = [];
        $given = $lines($fields);
        curl_setopt_array($curl, [
            CURLOPT_URL => $address,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_NOBODY => $method === 'HEAD',
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FOLLOWLOCATION => true,
            CURLOPT_TIMEOUT => 20,
            CURLOPT_HEADERFUNCTION => function ($_, $line) use (&$head) {
                $head[] = trim($line);
                return strlen($line);
            },
        ]);
        if ($body !== null && $chunked) {
            $rest = $body;
            curl_setopt($curl, CURLOPT_UPLOAD, true);
            curl_setopt($curl, CURLOPT_READFUNCTION, function ($_, $__, $size) use (&$rest) {
                $part = substr($rest, 0, $size);
                $rest = substr($rest, $size);
                return $part;
            });
            $given[] = 'Transfer-Encoding: chunked';
        } elseif ($body !== null) {
            curl_setopt($curl, CURLOPT_POSTFIELDS, $body);
        }
        curl_setopt($curl, CURLOPT_HTTPHEADER, $given);
        $content = curl_exec($curl);
        if ($content === false) throw new RuntimeException('curl ' . curl_errno($curl));
        return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), pairs($head), $content];
    };
}

/** `file_get_contents`: HTTP/1.1 with a connection for each request, as its users write it. */
function streams(float $version = 1.1): callable
{
    return function ($method, $address, $fields, $body, $chunked) use ($version) {
        $options = [
            'method' => $method,
            'header' => array_map(fn ($field) => "$field[0]: $field[1]", $fields),
            'protocol_version' => $version,
            'ignore_errors' => true,
            'timeout' => 20,
        ];
        if ($body !== null) $options['content'] = $body;
        $content = @file_get_contents($address, false, stream_context_create(['http' => $options]));
        if ($content === false) throw new RuntimeException('no response');
        $status = array_values(preg_grep('~^HTTP/~', $http_response_header));
        return [(int) explode(' ', end($status))[1], pairs($http_response_header), $content];
    };
}

/** As PHP before 8.0 spoke. */
function http10(): callable
{
    return streams(1.0);
}

function guzzle(): callable
{
    require_once 'GuzzleHttp/autoload.php';
    $client = new GuzzleHttp\Client(['cookies' => true, 'http_errors' => false, 'timeout' => 20]);
    return function ($method, $address, $fields, $body, $chunked) use ($client) {
        $headers = [];
        foreach ($fields as [$name, $value]) $headers[$name][] = $value;
        $stream = fn () => (function () use ($body) {
            foreach (str_split($body, 1000) as $part) yield $part;
        })();
        $content = $chunked ? GuzzleHttp\Psr7\Utils::streamFor($stream()) : $body;
        $response = $client->request($method, $address, ['headers' => $headers, 'body' => $content]);
        $pairs = [];
        foreach ($response->getHeaders() as $name => $values)
            foreach ($values as $value) $pairs[] = [$name, $value];
        return [$response->getStatusCode(), $pairs, (string) $response->getBody()];
    };
}

$calls = json_decode(file_get_contents($file), true);
foreach (array_slice($argv, 3) as $base) {
    $send = $library();
    $tag = '';
    foreach ($calls as $call) {
        $fields = array_map(fn ($field) => [$field[0], iconv('UTF-8', 'ISO-8859-1', str_replace('{etag}', $tag, $field[1]))], $call['fields']);
        $body = $call['body'] === null ? null : file_get_contents($call['body']);
        try {
            [$status, $head, $content] = $send($call['method'], $base . $call['path'], $fields, $body, $call['chunked']);
            foreach ($head as [$name, $value]) if (strtolower($name) === 'etag') $tag = $value;
            echo json_encode([$status, $head, base64_encode($content)], JSON_INVALID_UTF8_SUBSTITUTE), "\n";
        } catch (Throwable $error) {
            echo json_encode(get_class($error) . ' ' . explode("\n", preg_replace('~https?://\S+|\d{4,}~', '', $error->getMessage()))[0], JSON_INVALID_UTF8_SUBSTITUTE), "\n";
        }
    }
}
