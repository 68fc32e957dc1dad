import * as z from 'zod';
import type { Entry } from './entry.ts';

const rule = z.enum(['unwrap', 'nest', 'rename', 'strip', 'only']);
const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/);
const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();

const editRecord = z.strictObject({
  change: z.string().describe('The id of the change in the rule book.'),
  rule,
  from: z.exactOptional(pointer).describe('Where it was in the V1 body (RFC 6901).'),
  path: z.exactOptional(pointer).describe('Where it is in the V2 body (RFC 6901).'),
  note: z
    .exactOptional(z.string())
    .describe(
      'Why, where it was not the plain case: conflict, sibling, duplicate, already-flat, byte-order-mark.',
    ),
});

const patchOperation = z.strictObject({
  op: z.enum(['add', 'remove', 'move']),
  path: pointer,
  from: z.exactOptional(pointer),
  value: z.exactOptional(z.unknown()).describe('Only of what the gateway made; never a value of the body.'),
});

const responseRecord = z.strictObject({
  change: z.string().describe('The id of the change in the rule book.'),
  rule: z.enum(['alias', 'flatten', 'deprecations', 'alias-errors']),
  from: z.exactOptional(pointer).describe("Where it was copied from in V2's response (RFC 6901)."),
  path: pointer.describe("What was added or changed in the client's response (RFC 6901)."),
});

const comparison = z.strictObject({
  verdict: z.enum(['same', 'different', 'unknown']),
  status: z.exactOptional(z.strictObject({ v1: count, v2: count })),
  differences: z
    .array(z.strictObject({ path: z.string(), kind: z.enum(['missing', 'type', 'value']) }))
    .max(32)
    .readonly(),
  noise: count.describe('Fields in which V1 differs from itself.'),
  extra: count.describe('Fields that only V2 has.'),
  why: z.exactOptional(z.string()),
});

/** One line of the rewrite log, strictly: a member that is not named here is a fault. */
export const entrySchema = z
  .strictObject({
    time: z.iso.datetime({ precision: 3 }).describe('When the head of the request had arrived, UTC.'),
    level: z.enum(['info', 'warn', 'error']),
    requestId: z.string().min(1),
    traceId: z.exactOptional(z.string().regex(/^[0-9a-f]{32}$/)),
    spanId: z.exactOptional(z.string().regex(/^[0-9a-f]{16}$/)),
    spanOfClient: z.exactOptional(z.literal(true)).describe('The client named the span.'),
    client: z
      .exactOptional(z.string().regex(/^[0-9a-f]{16}$/))
      .describe('First 16 hex digits of HMAC-SHA-256(API key, secret).'),
    parentSpanId: z
      .exactOptional(z.string().regex(/^[0-9a-f]{16}$/))
      .describe('The span id of the client, where the gateway exports one below it.'),
    isSampled: z.exactOptional(z.literal(true)).describe('The gateway exports spans of the exchange.'),
    route: z.enum(['migrate', 'pass', 'none']),
    method: z.string(),
    path: z.string().describe('As the client sent it, query values left out.'),
    upstreamPath: z.exactOptional(z.string()).describe('As V2 got it, query values left out.'),
    operation: z.exactOptional(z.string()).describe('The id in the rule book.'),
    apiVersion: z.exactOptional(
      z.strictObject({ sent: z.string(), why: z.enum(['absent', 'invalid', 'client', 'pin']) }),
    ),
    mode: z
      .exactOptional(z.enum(['observe', 'canary', 'shadow']))
      .describe('What V1 traffic goes through, where that is not simply being migrated.'),
    origin: z
      .exactOptional(z.literal('v1'))
      .describe('The request went to V1, untouched; edits and patch are what migrating it would have done.'),
    would: z
      .exactOptional(
        z.strictObject({
          verdict: z.enum(['rewritten', 'unchanged', 'refused']),
          failure: z.exactOptional(z.string()),
        }),
      )
      .describe('What migrating it would have come to.'),
    comparison: z.exactOptional(comparison).describe('What asking both origins found, for a read in shadow.'),
    heldMs: z
      .exactOptional(milliseconds)
      .describe('For which it was held back for the rate limit of the service.'),
    verdict: z.enum(['rewritten', 'unchanged', 'refused', 'passed']),
    edits: z.array(editRecord).readonly(),
    patch: z
      .exactOptional(z.array(patchOperation).readonly())
      .describe('RFC 6902, from the V1 body to the V2 body.'),
    responseEdits: z
      .exactOptional(z.array(responseRecord).readonly())
      .describe('What response rules did to the response.'),
    responseNote: z
      .exactOptional(z.string())
      .describe('Why a response that a response rule applies to was left as it is.'),
    editsOmitted: z
      .exactOptional(count)
      .describe('Edits carried out beyond those listed; there is no patch then.'),
    note: z.exactOptional(z.string()).describe('Which policy, limit or media type decided.'),
    failure: z.exactOptional(z.string()).describe('The code when the gateway answered itself.'),
    cause: z.exactOptional(z.string()).describe("The system's name for what went wrong upstream."),
    pointer: z.exactOptional(pointer).describe('What in the V1 body a refusal is about.'),
    position: z.exactOptional(z.strictObject({ offset: count, line: count, column: count })),
    bytesIn: count.describe('Bytes of the request body as received.'),
    bytesOut: count.describe('Bytes of the request body as sent on.'),
    responseBytes: count.describe("Bytes of the response's body as sent to the client."),
    status: count.describe('What the client got; 0 when it went away before.'),
    upstreamMs: z.exactOptional(milliseconds),
    totalMs: milliseconds,
    rewriteMs: z.exactOptional(milliseconds),
    attempts: z.exactOptional(count).describe('How often it was sent to V2, when more than once.'),
    attributes: z
      .exactOptional(z.array(z.string()).max(64).readonly())
      .describe('Names of the members of the V1 body.'),
    ruleBook: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .describe('The hash of the rule book in force.'),
  })
  .describe('One exchange in the rewrite log of capture-gateway.') satisfies z.ZodType<Entry>;
