import { expect, test } from 'vitest';
import { playScript, type Stage } from '../../src/twin/play.ts';
import { readScript, type Side } from '../../src/twin/script.ts';

const sideWith = (body: string): Side => ({
  origin: 'http://127.0.0.1',
  send: async () => ({ status: 200, headers: [], body: new TextEncoder().encode(body) }),
});

test.each([
  ['members in another order', '{"b":2,"a":1}', true, 'member-order'],
  ['members in another order, where both promise it', '{"b":2,"a":1}', false, undefined],
  ['another value as well', '{"b":3,"a":1}', true, undefined],
  ['elements in another order', '[2,1]', true, undefined],
])('%s: by choice or not', async (_, body, takesAnyOrder, choice) => {
  const reading = readScript('script', '# one\n> GET /things');
  if ('faults' in reading) throw new Error(reading.faults.join());
  const v1 = sideWith(body.startsWith('[') ? '[1,2]' : '{"a":1,"b":2}');
  const stage: Stage = { v1, gateway: sideWith(body), key: 'k', takesAnyOrder };
  for await (const played of playScript(reading.script, stage))
    expect([played.differences.length > 0, played.choice]).toEqual([true, choice]);
});
