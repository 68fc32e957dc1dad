import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLogSink } from '../../../src/node/log/log-sink.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const encoded = (...parts: readonly string[]): Uint8Array[] => parts.map((part) => Buffer.from(part));

function fileSink(limit = 1_000_000) {
  const path = join(temporaryFolder('log-sink'), 'log');
  const notices: string[] = [];
  const sink = openLogSink(path, { limit, onNotice: (trouble) => void notices.push(trouble) });
  return { sink, notices, text: () => readFileSync(path, 'utf8') };
}

test('texts and encoded lines are written in their order, however long they are', async () => {
  const { sink, text } = fileSink();
  const long = 'x'.repeat(300_000);
  sink.write('first \u00e9\n');
  sink.writeEncoded(encoded('sec', 'ond', '\n'));
  sink.writeEncoded(encoded(long, '\n'));
  sink.write('last\n');
  await sink.flush(5000);
  expect(text()).toBe(`first \u00e9\nsecond\n${long}\nlast\n`);
});

test('parts are copied: their memory may be used again', async () => {
  const { sink, text } = fileSink();
  const parts = encoded('line\n');
  sink.writeEncoded(parts);
  parts[0]?.fill(0x21);
  await sink.flush(5000);
  expect(text()).toBe('line\n');
});

test('lines beyond the limit are dropped, counted and reported once', async () => {
  const { sink, notices, text } = fileSink(10);
  sink.writeEncoded(encoded('12345678', '\n'));
  sink.writeEncoded(encoded('too much\n'));
  sink.write('too much\n');
  await sink.flush(5000);
  expect([text(), sink.dropped, notices.length]).toEqual(['12345678\n', 2, 1]);
});
