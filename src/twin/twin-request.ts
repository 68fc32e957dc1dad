import type { KeptValues } from './kept-values.ts';
import type { ScriptedExchange } from './script.ts';
import type { TwinRequest } from './sender.ts';

/**
 * The request of an exchange for one service: with the values that this service gave, the API key, and `Content-Type:
 * application/json` where there is a body, unless the script has or removes these fields.
 */
export async function requestOf(exchange: ScriptedExchange, kept: KeptValues): Promise<TwinRequest> {
  const { method, coding } = exchange;
  const given = exchange.headers.map(([name, value]) => [name, kept.inField(value)] as const);
  const names = new Set(given.map(([name]) => name.toLowerCase().replace(/^!/, '')));
  const added: (readonly [string, string])[] = [['Authorization', kept.inField('Bearer ${key}')]];
  if (exchange.body !== undefined) added.push(['Content-Type', 'application/json']);
  if (coding !== undefined) added.push(['Content-Encoding', coding]);
  const headers = [
    ...added.filter(([name]) => !names.has(name.toLowerCase())),
    ...given.filter(([name]) => !name.startsWith('!')),
  ];
  const plain = exchange.body === undefined ? undefined : bytesOf(exchange, kept.inBody(exchange.body));
  const body = plain === undefined || coding === undefined ? plain : await encode(plain, coding);
  return { method, target: kept.inTarget(exchange.target), headers, body };
}

function bytesOf({ bytes, pad }: ScriptedExchange, text: string): Uint8Array<ArrayBuffer> {
  const padded = text.padEnd(pad);
  switch (bytes) {
    case 'utf-8':
      return new TextEncoder().encode(padded);
    case 'bom':
      return new TextEncoder().encode(`\uFEFF${padded}`);
    case 'latin1':
      return Uint8Array.from(padded, (character) => character.charCodeAt(0));
    case 'utf-16':
      return new Uint8Array(Uint16Array.from(padded, (character) => character.charCodeAt(0)).buffer);
  }
}

async function encode(plain: Uint8Array<ArrayBuffer>, coding: 'gzip' | 'deflate'): Promise<Uint8Array> {
  const stream = new Blob([plain]).stream().pipeThrough(new CompressionStream(coding));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
