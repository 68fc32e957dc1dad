import { NO_BYTES } from '../../json/names.ts';
import {
  FieldNames,
  type HeaderList,
  headerValue,
  headerValues,
  isNamed,
  setField,
  withoutFields,
  readDecimal,
} from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { requestedVersion } from '../../migrate/decision.ts';
import { stepFor } from '../../migrate/migration.ts';
import type { DescriptionText } from '../description.ts';
import { withHeaders } from '../upstream.ts';
import type { Answer } from './intake.ts';
import { MIGRATE, MIGRATED, readBy } from './migrate.ts';
import { CONDITIONAL_FIELDS } from './modes.ts';
import type { V1Exchange, V1Mode } from './v1-exchange.ts';

/** Maximum time that clients without credentials share a description without asking V2, in milliseconds. */
const SHARED_MS = 60_000;

/** Fields about V2's own copy of the description, a different text from the client's; and those that allow content codings. */
const FIELDS_OF_THE_COPY = new FieldNames(['accept-encoding', ...CONDITIONAL_FIELDS]);

/** Fields of V2's response that are kept in a shared description. */
const SHARED_FIELDS = new FieldNames([
  'access-control-allow-origin',
  'cache-control',
  'content-type',
  'vary',
]);

/** Fields that describe V2's text. */
const FIELDS_OF_V2 = new FieldNames(['etag', 'last-modified']);

const FIELDS_OF_A_BODY = new FieldNames(['content-length', 'content-type', 'etag', 'last-modified']);

/**
 * Responds to `GET /api/v1/openapi.json` with V1's description, derived from V2's, and to HEAD with the same head (RFC 9110
 * §9.3.2). Migrates the request like any other, so that V2 sees its credentials and decides; forwards a response that is not an
 * OpenAPI description.
 */
export const DESCRIBE: V1Mode = {
  ...MIGRATE,

  request(exchange) {
    const { gateway } = exchange;
    const known = isAnonymous(exchange) ? gateway.descriptions.fresh(keyOf(exchange)) : undefined;
    if (known === undefined) {
      MIGRATE.request(exchange);
      return;
    }
    const { text, headers, age } = known;
    const isSame = isKnownToClient(exchange, text);
    const { date } = gateway.hopFields;
    const fields = [...headers, 'Date', date, 'ETag', text.etag, 'Age', String(Math.floor(age / 1000))];
    if (!isSame) fields.push('Content-Length', String(text.body.length));
    exchange.respond(isSame ? 304 : 200, fields, isSame ? NO_BYTES : text.body);
  },

  sends(request) {
    const headers = withoutFields(request.headers, FIELDS_OF_THE_COPY);
    setField(headers, 'accept-encoding', 'identity');
    // The length and the tag are known once the description is derived, which needs all of V2's.
    return { ...withHeaders(request, headers), method: request.method === 'HEAD' ? 'GET' : request.method };
  },

  response: (exchange) => readBy(exchange, DERIVED),
};

/** V1's description in place of V2's. */
const DERIVED: Answer = {
  begin(exchange, status, headers) {
    const step = MIGRATED.begin(exchange, status, headers);
    return status === 200 ? stepFor(status, headers, exchange.rules.ruleBook, true) : step;
  },

  finish(exchange, body, done) {
    const { response, gateway, rules, memory } = exchange;
    if (response?.context.status !== 200) {
      MIGRATED.finish(exchange, body, done);
      return;
    }
    memory.work((room, finish) => {
      const { descriptions, v2 } = gateway;
      descriptions.derive({ source: body, rules: rules.ruleBook, v2 }, room).then(
        (derived) =>
          finish(() => {
            if (derived === undefined) MIGRATED.finish(exchange, body, done);
            else if (derived === 'buffer-full')
              done({ verdict: 'unchanged', body, note: 'response-buffer-full' }, body);
            else {
              const isSame = isKnownToClient(exchange, derived);
              const text = isSame ? NO_BYTES : derived.body;
              exchange.hasOwnTag = true;
              done({ verdict: 'rewritten', body: text, records: [], omitted: 0, patch: [] }, body, (head) => {
                share(exchange, derived, head.headers);
                return headOf(head, derived, isSame);
              });
            }
          }),
        (error: unknown) => finish(() => exchange.failInternally(error)),
      );
    }, 1);
  },

  // V2's own description is better than none.
  mayRefuse: () => false,
};

function headOf(head: ResponseHead, { etag }: DescriptionText, isSame: boolean): ResponseHead {
  const headers = withoutFields(head.headers, isSame ? FIELDS_OF_A_BODY : FIELDS_OF_V2);
  headers.push('ETag', etag);
  const line = isSame ? { status: 304, reason: 'Not Modified' } : {};
  return { ...head, ...line, headers };
}

/** A response to a request with credentials belongs to its client (RFC 9111 §3.5). */
function isAnonymous({ received, apiKey }: V1Exchange): boolean {
  const { authorization, forwardedHeaders } = received.head;
  const isKeyless = authorization === undefined && apiKey === undefined;
  return isKeyless && headerValue(forwardedHeaders, 'cookie') === undefined;
}

/** Everything that V2's description depends on: rule book, release and target. */
function keyOf({ received, rules, decision, routing }: V1Exchange): string {
  return JSON.stringify([
    rules.ruleBook.hash,
    requestedVersion(received.head, decision.target.query, rules) ?? '',
    decision.target.raw,
    routing?.subject,
  ]);
}

function share(exchange: V1Exchange, derived: DescriptionText, headers: HeaderList): void {
  if (!isAnonymous(exchange)) return;
  const shared = headers.flatMap((name, at) => {
    return at % 2 === 0 && SHARED_FIELDS.has(name) ? [name, headers[at + 1] ?? ''] : [];
  });
  const age = ageMs(headers);
  exchange.gateway.descriptions.share(keyOf(exchange), derived, shared, sharedMs(headers, age), age);
}

/** If-None-Match (RFC 9110 §13.1.2), compared weakly. */
function isKnownToClient({ received }: V1Exchange, { etag }: DescriptionText): boolean {
  const tags = headerValues(received.exchange.headers, 'if-none-match').join(',').split(',');
  return tags.some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
}

/** The age of a response that caches have kept, in milliseconds; 0 if it is not a number (RFC 9111 §5.1). */
function ageMs(headers: HeaderList): number {
  return 1000 * (readDecimal(headerValue(headers, 'age') ?? '') ?? 0);
}

/** How long a response of this age may be shared, in milliseconds: as V2 allows, up to the limit. */
function sharedMs(headers: HeaderList, age: number): number {
  const control = headerValues(headers, 'cache-control').join(',').toLowerCase();
  if (/\b(?:no-store|no-cache|private)\b/.test(control)) return 0;
  if (headers.some((name, at) => at % 2 === 0 && isNamed(name, 'set-cookie'))) return 0;
  const vary = headerValues(headers, 'vary').join(',').toLowerCase();
  if (vary.split(',').some((name) => !['', 'accept-encoding'].includes(name.trim()))) return 0;
  const maxAge = /\bs-maxage=(\d+)/.exec(control)?.[1] ?? /\bmax-age=(\d+)/.exec(control)?.[1];
  return maxAge === undefined ? SHARED_MS : Math.min(SHARED_MS, Number(maxAge) * 1000 - age);
}
