import { isIP } from 'node:net';
import type { UnknownAttributes } from '../reference/schemas.ts';

/** The settings of the `reference` command as texts, from flags or the environment. */
export interface ReferenceTexts {
  readonly listen: string;
  readonly db?: string | undefined;
  readonly unknown: string;
  readonly rate: string;
}

/** The settings of the `reference` command, checked. */
export interface ReferenceSettings {
  readonly listen: { readonly host: string; readonly port: number };
  readonly db: string | undefined;
  readonly unknown: UnknownAttributes;
  readonly rate: number;
}

/** What holds where nothing is said; an empty environment variable says nothing. */
export const referenceDefaults = { listen: '127.0.0.1:8090', unknown: 'refuse', rate: '0' } as const;

/** Checks the settings and answers them, or every fault at once: each names the setting, its value and the way out. */
export function readReferenceSettings(texts: ReferenceTexts): ReferenceSettings | readonly string[] {
  const listen = readAddress(texts.listen || referenceDefaults.listen);
  const rate = readCount(texts.rate || referenceDefaults.rate);
  const unknown = texts.unknown || referenceDefaults.unknown;
  const faults: string[] = [];
  if (listen === undefined) {
    faults.push(
      fault('listen', texts.listen, 'is no address: use host:port, such as 127.0.0.1:8090 or [::1]:8090.'),
    );
  }
  if (!isUnknown(unknown)) faults.push(fault('unknown', unknown, 'is not known: use refuse or strip.'));
  if (rate === undefined) {
    faults.push(
      fault('rate', texts.rate, 'is no number of requests a minute: use 60, say, or 0 for no limit.'),
    );
  }
  if (listen === undefined || rate === undefined || !isUnknown(unknown)) return faults;
  return { listen, rate, unknown, db: texts.db || undefined };
}

function fault(name: string, value: string, problem: string): string {
  return `--${name} (GATEWAY_REFERENCE_${name.toUpperCase()}) ${JSON.stringify(value)} ${problem}`;
}

function readAddress(text: string): ReferenceSettings['listen'] | undefined {
  const parts = /^(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^\s:/]+)):(?<port>\d{1,5})$/.exec(text)?.groups;
  const host = parts?.['ipv6'] ?? parts?.['host'];
  const port = Number(parts?.['port']);
  if (host === undefined || port > 65_535) return undefined;
  if (parts?.['ipv6'] !== undefined && isIP(host) !== 6) return undefined;
  return { host, port };
}

function readCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function isUnknown(text: string): text is UnknownAttributes {
  return text === 'refuse' || text === 'strip';
}
