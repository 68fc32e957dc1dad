import * as z from 'zod';
import { REQUEST_RULE_NAMES, RESPONSE_RULE_NAMES } from '../rules/kinds/words.ts';

/** A member that may be absent, with its description. */
function optional<Schema extends z.core.SomeType>(
  schema: Schema,
  description: string,
): z.ZodExactOptional<Schema> {
  return z.exactOptional(schema).describe(description);
}

const hexDigits = z.string().regex(/^[0-9a-f]{16}$/);
const rule = z.enum([...REQUEST_RULE_NAMES, 'transform']);
const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/);
/** A pointer, or a question mark and the name of a query parameter. */
const place = z.string().regex(/^(?:(?:\/(?:[^~/]|~[01])*)*|\?[^]+)$/);
const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();

const editRecord = z.strictObject({
  change: z.string().describe('Id of the change in the rule book.'),
  rule,
  from: optional(
    place,
    'Pointer in the V1 body (RFC 6901), or a question mark and the name of a query parameter.',
  ),
  path: optional(
    place,
    'Pointer in the V2 body (RFC 6901), or a question mark and the name of a query parameter.',
  ),
  header: optional(
    z.string(),
    'Header field as the client named it, for an edit of the header section; the new name for a field that a rule added.',
  ),
  to: optional(z.string(), 'Header field as V2 reads it; absent if V2 does not get it.'),
  note: optional(
    z.string(),
    'Reason for a special case: conflict, sibling, duplicate, value, unmapped, already-flat, byte-order-mark.',
  ),
});

const patchOperation = z.strictObject({
  op: z.enum(['add', 'remove', 'move', 'copy', 'replace']),
  path: pointer,
  from: z.exactOptional(pointer),
  value: optional(
    z.unknown(),
    'A value that the gateway created, or, only while capture is on and masks nothing, one that took the place of the client’s.',
  ),
});

const responseRecord = z.strictObject({
  change: z.string().describe('Id of the change in the rule book.'),
  rule: z.enum([...RESPONSE_RULE_NAMES, 'transform']),
  from: optional(pointer, "Pointer to the member in V2's response (RFC 6901)."),
  path: optional(
    pointer,
    "Pointer to the member in the client's response (RFC 6901); absent if it is not in it.",
  ),
  header: optional(
    z.string(),
    'Header field as V2 named it, for an edit of the header section; the new name for a field that a rule added.',
  ),
  to: optional(z.string(), 'Header field as the client reads it; absent if the client does not get it.'),
  note: optional(
    z.string(),
    'Reason for a special case: conflict (the response also had the V1 name), duplicate, value (it could not be converted), more (of a list) or lookup (V2 has nothing for the key).',
  ),
});

const comparison = z.strictObject({
  verdict: z.enum(['same', 'different', 'unknown']),
  status: z.exactOptional(z.strictObject({ v1: count, v2: count })),
  differences: z
    .array(
      z.strictObject({ path: z.string(), kind: z.enum(['missing', 'type', 'value', 'length', 'order']) }),
    )
    .max(32)
    .readonly(),
  noise: count.describe('Fields that differ between two responses of V1.'),
  extra: count.describe('Members of objects that only V2 has.'),
  why: z.exactOptional(z.string()),
});

/** One line of the rewrite log, strictly: a member that is not named here is a fault. */
export const entrySchema = z
  .strictObject({
    time: z.iso.datetime({ precision: 3 }).describe('Time at which the request headers were complete, UTC.'),
    level: z.enum(['info', 'warn', 'error']).describe('Severity.'),
    requestId: z.string().min(1).describe('The x-request-id of the client, or a new one.'),
    traceId: optional(
      z.string().regex(/^[0-9a-f]{32}$/),
      'W3C trace id; absent if the client sent none and the gateway exports no spans.',
    ),
    spanId: optional(hexDigits, "The parent of V2's spans (W3C): the gateway's own span, or the client's."),
    spanOfClient: optional(z.literal(true), 'The span id is that of the client.'),
    client: optional(
      hexDigits,
      'First 16 hex digits of HMAC-SHA-256(API key, secret); absent without a key.',
    ),
    parentSpanId: optional(hexDigits, "The client's span id, if the gateway exports a child span of it."),
    isSampled: optional(z.literal(true), 'The gateway exports spans of the exchange.'),
    route: z
      .enum(['migrate', 'pass', 'other', 'webhook', 'none'])
      .describe(
        "migrate: V1's traffic; pass: V2's, unread; other: under neither prefix, unread; webhook: from V2 to a subscriber; none: refused before it was routed, or a client's request for its own report.",
      ),
    side: optional(
      z.enum(['v1', 'v2', 'neither']),
      'The version whose prefix the address has, if the gateway refused the request before it was routed.',
    ),
    method: z.string().describe('HTTP method.'),
    path: z.string().describe('Path and query as the client sent them, without query values.'),
    upstreamMethod: optional(
      z.string(),
      "HTTP method of the request to V2, if it differs from the client's.",
    ),
    upstreamPath: optional(
      z.string(),
      'Path and query of the request to the service, without query values; absent if none was made.',
    ),
    operation: optional(
      z.string(),
      'Operation id in the rule book; absent for V1 traffic that fits none, and for V2 traffic.',
    ),
    apiVersion: optional(
      z.strictObject({
        sent: z.string(),
        why: z.enum(['absent', 'invalid', 'future', 'client', 'pin']),
        field: z.exactOptional(z.string()),
      }),
      'The release that the gateway requests from V2, the reason for it, and the place that names it, unless that is x-api-version: a header field, accept for media types, or ? and a query parameter.',
    ),
    mode: optional(
      z.enum(['observe', 'canary', 'shadow', 'verify']),
      'Mode of V1 traffic, unless it is migrate.',
    ),
    origin: optional(
      z.literal('v1'),
      'The request went to V1 unchanged; edits and patch are those of a migration that was not carried out.',
    ),
    would: optional(
      z.strictObject({
        verdict: z.enum(['rewritten', 'unchanged', 'refused']),
        failure: optional(z.string(), 'Failure code that the client would have received.'),
        pointer: optional(z.string(), 'Pointer of the refusal in the V1 body.'),
        v2: optional(
          z.enum(['valid', 'invalid', 'unknown']),
          "Whether V2's request schema accepts the migrated body. Nothing was sent to V2.",
        ),
        at: optional(
          pointer,
          'Pointer to the first fault in the migrated body; a missing member has one as well.',
        ),
        why: optional(
          z.string(),
          'Reason for unknown: no-schema, unusable-schema, no-description, not-read, not-json, too-large, too-slow or budget.',
        ),
      }),
      'Result of a migration that was not carried out.',
    ),
    comparison: optional(
      comparison,
      'Result of comparing both services, for a read in mode shadow or verify.',
    ),
    heldMs: optional(milliseconds, 'Milliseconds of delay for the rate limit of the service.'),
    newcomer: optional(
      z.enum(['refused', 'warned', 'would', 'not-known']),
      'The client is new to V1: refused, warned, not known yet (refused if still unknown on the day), or served because the gateway does not know.',
    ),
    verdict: z
      .enum(['rewritten', 'unchanged', 'refused', 'passed', 'served'])
      .describe(
        'Effect of the gateway on the exchange: `rewritten` if it edited the request (`edits`) or the body of the response (`responseEdits`); `passed` for native V2 traffic; a `refused` request was never forwarded, nor a `served` one, which read a client’s own report.',
      ),
    edits: z
      .array(editRecord)
      .readonly()
      .describe('Edits of the V1 query and the V1 body, each with change, rule and places.'),
    patch: optional(
      z.array(patchOperation).readonly(),
      'RFC 6902 patch from the V1 body to the V2 body; a replace has its value only while capture is on.',
    ),
    responseEdits: optional(
      z.array(responseRecord).readonly(),
      'Edits of the response by response rules: the first 64, and the first of each further rule.',
    ),
    responsePatch: optional(
      z.array(patchOperation).readonly(),
      "RFC 6902 patch from V2's response to the client's, without values of the response; absent if edits are not listed, or if a text was replaced.",
    ),
    responseEditsOmitted: optional(
      count,
      'Number of edits of the response that are not listed; there is no patch then.',
    ),
    responseNote: optional(
      z.string(),
      'Reason why a response was not rewritten although a response rule applies; lookup-failed: V2 does not have an object that a rule looks up, or did not respond in time; response-until-close: only the end of a TLS connection without close_notify marks its end.',
    ),
    lookups: optional(
      z
        .array(
          z.strictObject({
            address: z.string().describe('The address at V2, with {} in place of the key.'),
            status: optional(count, "Status of V2's responses; absent without one."),
            cause: optional(z.string(), 'Why there is no response, in a few words.'),
            count: count.describe('Number of such requests.'),
            ms: count.describe('Milliseconds of the slowest.'),
            bytes: count.describe('Bytes of the responses, decoded.'),
          }),
        )
        .readonly(),
      'Requests of lookup rules to V2 for the response, by address and outcome.',
    ),
    responseWould: optional(
      z
        .array(
          z.strictObject({
            change: z.string().describe('Id of the change in the rule book.'),
            rule: optional(
              z.enum([...new Set([...REQUEST_RULE_NAMES, ...RESPONSE_RULE_NAMES])]),
              'The rule, if it is a map: V2 has other values of the member.',
            ),
            from: optional(pointer, "Pointer in V2's response; absent if V2 does not have the member."),
            path: pointer.describe("Pointer in V1's response."),
          }),
        )
        .readonly(),
      "Members of V1's response that V2 names or places differently, according to the rules; for sampled writes.",
    ),
    errorPointers: optional(
      z.array(z.string()).max(16).readonly(),
      'Places that the errors of a sampled 4xx point at, in the body as the service received it.',
    ),
    deprecated: optional(
      z.array(z.string()).max(16).readonly(),
      "Attributes of the request that V1's response calls deprecated, as pointers in the V1 body.",
    ),
    unechoed: optional(
      z.array(z.string()).max(16).readonly(),
      "Attributes of the request that V2's 2xx does not echo; empty if it echoes all of them.",
    ),
    editsOmitted: optional(count, 'Number of edits that are not listed; there is no patch then.'),
    note: optional(
      z.string(),
      'Policy, limit or media type that determined the verdict; or `trailers-dropped`.',
    ),
    failure: optional(z.string(), 'Failure code of a response that the gateway itself made.'),
    cause: optional(
      z.string(),
      "Cause of a failure: the system's error code, such as ECONNREFUSED, or a few words, such as `no response head in time`. Without a failure: why a response that had begun was reset.",
    ),
    sent: optional(
      z.boolean(),
      'If the service gave no response: false if none of the request reached it, or the client disconnected before anything was sent; true if the service may have carried it out.',
    ),
    pointer: optional(pointer, 'Pointer to the cause of a refusal in the V1 body.'),
    position: optional(
      z.strictObject({ offset: count, line: count, column: count }),
      'Byte offset, line and column of a fault in the V1 body.',
    ),
    bytesIn: count.describe('Bytes of the request body as received.'),
    bytesOut: count.describe('Bytes of the request body as forwarded, or as received if it streams.'),
    responseBytes: count.describe("Bytes of the response's body as written to the client's connection."),
    status: count.describe('Status that the client received; 0 if it received none.'),
    upstreamStatus: optional(
      count,
      "Status of V2's response, if the operation maps it to another one for the client.",
    ),
    incomplete: optional(
      z.literal(true),
      'The exchange with the client ended between the status and the end of the response: it disconnected, was too slow, or was reset.',
    ),
    upstreamMs: optional(
      milliseconds,
      'Milliseconds from the last attempt to send the request to the head of its response, with the wait for a connection and the time of a body that streams.',
    ),
    totalMs: milliseconds.describe(
      'Milliseconds from the head of the request to the end of the response; 0 if the head could not be read.',
    ),
    rewriteMs: optional(
      milliseconds,
      'Milliseconds of scanning and editing a V1 body; absent when none was read.',
    ),
    attempts: optional(count, 'Number of attempts to send the request, if more than one.'),
    attributes: optional(
      z.array(z.string()).max(64).readonly(),
      'Pointers of the members of the V1 body, `*` for elements: for the attribute census. Of a limited number of exchanges per second, with any outcome.',
    ),
    ruleBook: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .describe('Hash of the rule book in force.'),
  })
  .describe('One exchange in the rewrite log of capture-gateway.');
