import type { HeaderList } from '../../http/header-list.ts';
import { decodeQueryText } from '../../http/query-text.ts';
import { isOfQuery, type EditRecord } from '../../rewrite/rewrite.ts';
import { ownText } from '../own-text.ts';
import { isCredentialName, maskSecrets } from './mask-secrets.ts';
import { redactTarget } from './redact-target.ts';

/** A header field that may be displayed. */
export interface ShownHeader {
  readonly name: string;
  readonly value: string;
  readonly masked: boolean;
}

/** Fields whose values reveal nothing about a person, a key or an order. All other values are masked while capture is off. */
const HARMLESS: ReadonlySet<string> = new Set(
  [
    'accept accept-charset accept-encoding accept-language accept-ranges age allow alt-svc cache-control connection',
    'content-encoding content-language content-length content-type date deprecation expect expires host keep-alive',
    'pragma retry-after server strict-transport-security sunset te trailer transfer-encoding upgrade user-agent',
    'vary via x-api-version x-content-type-options x-frame-options x-gateway-error x-ratelimit-limit',
    'x-ratelimit-remaining x-ratelimit-reset x-request-id traceparent',
  ].flatMap((line) => line.split(' ')),
);

/** Fields that hold addresses: query values are masked, paths are kept as in the log. */
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'referer']);

/** Masks a raw header list for storage. `values` keeps values that are not credentials and hold none, as capture does. */
export function maskHeaders(headers: HeaderList, values: boolean): ShownHeader[] {
  const shown: ShownHeader[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const { name, value, masked } = maskHeader(headers[at] ?? '', headers[at + 1] ?? '', values);
    shown.push({ name: ownText(name), value: ownText(value), masked });
  }
  return shown;
}

/**
 * Masks parameters of a target whose names look like credentials, in the other version too: `records` are the edits of the query.
 */
export function maskQuerySecrets(target: string, records: readonly EditRecord[]): string {
  const secrets = secretNames(records);
  if (secrets.size === 0) return maskSecrets(target);
  return maskSecrets(target, (name) => isCredentialName(name) || secrets.has(decodeQueryText(name)));
}

/** Both names of each parameter that one of its names makes a credential. */
function secretNames(records: readonly EditRecord[]): ReadonlySet<string> {
  const names = records
    .filter(isOfQuery)
    .map(({ from = '', path = '' }) => [from, path])
    .filter((both) => both.some((name) => isCredentialName(name)));
  return new Set(names.flat().map((name) => name.slice(1)));
}

function maskHeader(name: string, value: string, values: boolean): ShownHeader {
  const lower = name.toLowerCase();
  if (isCredentialName(lower)) return { name, value: maskSecret(value), masked: true };
  if (values) {
    const shown = maskSecrets(value);
    return { name, value: shown, masked: shown !== value };
  }
  if (HARMLESS.has(lower)) return { name, value, masked: false };
  if (ADDRESSES.has(lower)) {
    const address = redactTarget(value);
    return { name, value: address, masked: address !== value };
  }
  return { name, value: '…', masked: true };
}

/** The scheme of `Authorization` stays, for it helps to find a client that sends the wrong one. */
function maskSecret(value: string): string {
  const scheme = /^(?:bearer|basic|digest|token|apikey) /i.exec(value);
  return scheme === null ? '…' : `${scheme[0]}…`;
}
