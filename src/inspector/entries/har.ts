import type { Entry } from '../../rewrite-log/entry.ts';
import type {
  KeptBody,
  KeptExchange,
  KeptHead,
  KeptResponse,
} from '../../rewrite-log/capture/kept-exchange.ts';
import type { Rewrite } from '../../rewrite/rewrite.ts';
import { accountOf } from './entry-words.ts';
import { bodyText } from './replayable.ts';

/** The parts of an archive of one exchange. */
export interface HarParts {
  readonly version: string;
  readonly entry: Entry;
  readonly kept: KeptExchange;
  /** The outcome for the V1 body. */
  readonly outcome: Rewrite | undefined;
  /** Scheme, host and port of the gateway and of V2. */
  readonly gatewayOrigin: string;
  readonly origin: string;
}

const decoder = new TextDecoder();

/**
 * Formats an exchange as an HTTP Archive (HAR 1.2): the client's request to the gateway, and the gateway's to V2 where there was
 * one. Masked header fields are left out. Of bodies whose values were not kept, placeholders of the right types stand in their
 * place, and a comment says so.
 */
export function harOf({ version, entry, kept, outcome, gatewayOrigin, origin }: HarParts): object {
  const { v1Request, v2Request, v2Response, clientResponse } = kept;
  const sent =
    outcome !== undefined && 'body' in outcome ? decoder.decode(outcome.body) : bodyText(v1Request.body);
  const front = {
    startedDateTime: entry.time,
    time: entry.totalMs,
    request: request(v1Request, gatewayOrigin, bodyText(v1Request.body), entry.bytesIn),
    response: response(clientResponse, entry.status, entry.responseBytes),
    cache: {},
    timings: timings(entry.totalMs, 'The time of the whole exchange; its parts were not measured.'),
    comment: [...accountOf(entry), ...structureNote(v1Request.body)].join(' '),
  };
  const back = v2Request && {
    startedDateTime: entry.time,
    time: entry.upstreamMs ?? 0,
    request: request(v2Request, origin, sent, entry.bytesOut),
    response: response(v2Response, 0, -1),
    cache: {},
    timings: timings(
      entry.upstreamMs ?? 0,
      entry.upstreamMs === undefined
        ? 'How long V2 took is not known.'
        : 'The time until the head of the response; the rest was not measured.',
    ),
    comment: ['The request as the gateway made it for V2.', ...structureNote(v1Request.body)].join(' '),
  };
  return {
    log: {
      version: '1.2',
      creator: { name: 'capture-gateway', version },
      entries: back === undefined ? [front] : [front, back],
    },
  };
}

/** HAR 1.2 takes -1 for what does not apply or is not known, but not as time to send, wait and receive. */
function timings(wait: number, comment: string): object {
  return { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, wait, receive: 0, comment };
}

function structureNote({ state }: KeptBody): readonly string[] {
  return state === 'structure' ? ['Values were not kept: placeholders stand in their place.'] : [];
}

function request(
  { method, target, headers }: KeptHead,
  origin: string,
  body: string | undefined,
  bodySize: number,
): object {
  const url = new URL(target.replaceAll('…', ''), origin);
  return {
    method,
    url: url.href,
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: shown(headers),
    queryString: [...url.searchParams].map(([name, value]) => ({ name, value })),
    headersSize: -1,
    bodySize,
    ...(body === undefined ? {} : { postData: { mimeType: typeOf(headers), text: body } }),
  };
}

/** `bytes` is the size of a body that was not kept; -1 where it is not known. */
function response(kept: KeptResponse | undefined, status: number, bytes: number): object {
  const text = kept && bodyText(kept.body);
  const mimeType = kept === undefined ? '' : typeOf(kept.headers);
  return {
    status: kept?.status ?? status,
    statusText: '',
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: kept === undefined ? [] : shown(kept.headers),
    content: { size: kept?.bodyBytes ?? bytes, mimeType, ...(text === undefined ? {} : { text }) },
    redirectURL: '',
    headersSize: -1,
    bodySize: kept?.bodyBytes ?? bytes,
  };
}

function shown(headers: KeptHead['headers']): readonly object[] {
  return headers.filter(({ masked }) => !masked).map(({ name, value }) => ({ name, value }));
}

function typeOf(headers: KeptHead['headers']): string {
  return headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value ?? '';
}
