import { Buffer } from 'node:buffer';
import { compareResponses } from '../src/gateway/v1/compare.ts';
import { layOutJson } from '../src/inspector/diff/json-layout.ts';
import { JsonWalker } from '../src/json/document.ts';
import { AttributeNames } from '../src/rewrite-log/attributes.ts';
import { bodyStructure } from '../src/rewrite-log/capture.ts';
import { ValueMasks } from '../src/rewrite-log/masks.ts';
import { type Series, series } from './growth-series.ts';

/** Bodies of about so many bytes that an attacker would send: much work for few bytes, if anything reads them twice. */
const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  'nested 250 deep': (bytes) => list(bytes, `${'{"a":'.repeat(250)}1${'}'.repeat(250)}`),
  'of tiny members': (bytes) => list(bytes, '{"a":1}'),
  'of escapes': (bytes) => list(bytes, String.raw`{"\u0061":"\\\u0000\""}`),
  'of long keys': (bytes) => list(bytes, `{"${'k'.repeat(700)}":1}`),
  wide: (bytes) => `{${Array.from({ length: bytes / 12 }, (_, k) => `"m${k}":${k}`).join(',')}}`,
};

/** The work for operators with one body of each shape, at sizes up to the bounds of each stage. */
export function observingSeries(): readonly Series[] {
  let now = 0;
  // Each reading of the clock is a second later, so that no budget is spent.
  const names = new AttributeNames(() => (now += 1000));
  const masks = new ValueMasks(['/data/*/a/secret', 'secret']);
  const walker = new JsonWalker();
  return Object.entries(SHAPES).flatMap(([shape, make]) => [
    of(`names in a body ${shape}`, [2, 4, 8, 16, 32], make, (body) => names.of(body)),
    of(`structure of a body ${shape}`, [2, 4, 8], make, bodyStructure),
    of(`masks in a body ${shape}`, [2, 8, 32, 128], make, (body) => masks.ofRequest(walker, body, [])),
    of(`layout of a body ${shape}`, [2, 4, 8, 16], make, (body) => layOutJson(body)),
    of(`comparing responses ${shape}`, [2, 8, 32, 128], make, (body) =>
      compareResponses({ status: 200, body }, { status: 200, body }, { status: 200, body }),
    ),
  ]);
}

function of(
  name: string,
  kibibytes: readonly number[],
  make: (bytes: number) => string,
  work: (body: Uint8Array) => unknown,
): Series {
  return series(name, 'KiB', kibibytes, (size) => {
    const body = Buffer.from(make(size * 1024));
    return () => void work(body);
  });
}

function list(bytes: number, element: string): string {
  return `[${Array.from({ length: Math.ceil(bytes / (element.length + 1)) }, () => element).join(',')}]`;
}
