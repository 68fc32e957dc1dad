/** Purposes of header fields, by their lower-case names: of RFC 9110 and related ones, of the service and of the gateway. */
const MEANINGS: Readonly<Record<string, string>> = {
  accept: 'Media types that the client accepts (RFC 9110 §12.5.1).',
  'accept-charset': 'Charsets that the client accepts; deprecated (RFC 9110 §12.5.2).',
  'accept-encoding': 'Content codings that the client accepts (RFC 9110 §12.5.3).',
  'accept-language': 'Languages that the client prefers (RFC 9110 §12.5.4).',
  'accept-ranges': 'Whether parts of the resource can be requested (RFC 9110 §14.3).',
  age: 'Seconds since the response was made or validated at the origin (RFC 9111 §5.1).',
  allow: 'Methods of the resource (RFC 9110 §10.2.1).',
  authorization: 'Credentials, here the API key; never kept (RFC 9110 §11.6.2).',
  'cache-control': 'How the message may be cached (RFC 9111 §5.2).',
  connection: 'Fields for this connection only; the gateway does not forward it (RFC 9110 §7.6.1).',
  'content-disposition': 'Whether a body is shown or saved, and under which name (RFC 6266).',
  'content-encoding': 'Coding of the body, such as gzip (RFC 9110 §8.4).',
  'content-language': 'Language of the body (RFC 9110 §8.5).',
  'content-length':
    'Length of the body in bytes; of a body that the gateway edits, that of the edited one (RFC 9110 §8.6).',
  'content-location': 'Address of the resource in the body (RFC 9110 §8.7).',
  'content-range': 'Place of a partial body in the whole (RFC 9110 §14.4).',
  'content-type': 'Media type of the body (RFC 9110 §8.3).',
  cookie: 'Cookies of the client; never kept (RFC 6265 §4.2).',
  date: 'Time at which the message was made (RFC 9110 §6.6.1).',
  deprecation: 'Since when the resource is deprecated (RFC 9745).',
  etag: 'Version of the representation (RFC 9110 §8.8.3).',
  expect: 'Asks for 100 Continue before the body; the gateway itself responds (RFC 9110 §10.1.1).',
  expires: 'Time after which a cached response is stale (RFC 9111 §5.3).',
  forwarded: 'Client, host and protocol before a proxy (RFC 7239).',
  host: 'Name and port that the request is for; for V2 that of its origin (RFC 9110 §7.2).',
  'idempotency-key': 'Identifies a request, so that it is carried out only once even if it is sent again.',
  'if-match': 'Carries the request out only for this version (RFC 9110 §13.1.1).',
  'if-modified-since': 'Asks for the content only if it is newer (RFC 9110 §13.1.3).',
  'if-none-match': 'Asks for the content only if it is another version (RFC 9110 §13.1.2).',
  'if-unmodified-since': 'Carries the request out only if nothing has changed since (RFC 9110 §13.1.4).',
  'keep-alive': 'Limits of this connection; not forwarded (RFC 2068 §19.7.1).',
  'last-modified': 'Time of the last change (RFC 9110 §8.8.2).',
  link: 'Related addresses, such as the next page or the successor version (RFC 8288).',
  location:
    "Address of the created resource, or of a redirect; for V1 clients under V1's prefix (RFC 9110 §10.2.2).",
  origin: 'Site of the page that sent the request (RFC 6454 §7).',
  range: 'Asks for a part of the resource (RFC 9110 §14.2).',
  referer: 'Page from which the request came (RFC 9110 §10.1.3).',
  'retry-after': 'Seconds to wait, or a time, before another try (RFC 9110 §10.2.3).',
  server: 'Software of the service (RFC 9110 §10.2.4).',
  'set-cookie': 'Cookie for the client; never kept (RFC 6265 §4.1).',
  'strict-transport-security': 'Tells browsers to use TLS only (RFC 6797).',
  sunset: 'When the resource will end (RFC 8594).',
  te: 'Transfer codings that the client accepts, and whether it accepts trailers; not forwarded (RFC 9110 §10.1.4).',
  traceparent: 'Trace and span of the request (W3C Trace Context).',
  tracestate: 'Vendor data of the trace (W3C Trace Context).',
  trailer: 'Fields that follow the body (RFC 9110 §6.6.2).',
  'transfer-encoding': 'Framing of the body on this connection; the next one gets its own (RFC 9112 §6.1).',
  upgrade:
    'Offers another protocol; the gateway ignores h2c, HTTP/2.0 and TLS, and refuses others (RFC 9110 §7.8).',
  'user-agent': 'Software of the client (RFC 9110 §10.1.5).',
  vary: 'Request fields that the response depends on (RFC 9110 §12.5.5).',
  via: 'Proxies that the message came through (RFC 9110 §7.6.3).',
  'www-authenticate': 'How to authenticate (RFC 9110 §11.6.1).',
  'x-api-version':
    'Dated release of V2. If absent or invalid, V2 would take the latest, so the gateway sets it on V1 requests.',
  'x-content-type-options': 'Tells browsers not to guess another media type.',
  'x-forwarded-for': 'Addresses of the client and of proxies before this one.',
  'x-forwarded-host': 'Host that the client requested.',
  'x-forwarded-proto': 'Protocol that the client used.',
  'x-gateway-error': 'Failure code of a response that the gateway itself made.',
  'x-request-id': "Identifies the request in logs; the client's own, or made by the gateway.",
};

/** Names of the header fields that are explained here, in lower case. */
export const HEADER_NAMES: readonly string[] = Object.keys(MEANINGS);

/** Returns the purpose of a header field in a sentence; undefined for an unknown one. */
export function headerMeaning(name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(MEANINGS, lower) ? MEANINGS[lower] : undefined;
}
