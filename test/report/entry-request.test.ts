import { expect, test } from 'vitest';
import { requestLike } from '../../src/report/entry-request.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { sampleEntry } from '../support/sample-entries.ts';

test('a request that stands for one with an empty wrapper has an object in it, which V1 accepts', () => {
  const edits = [{ change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' }] as const;
  const like = requestLike({ ...sampleEntry(0, 0), edits, attributes: ['/data'] });
  expect(JSON.parse(typeof like === 'string' ? like : (like.body ?? ''))).toEqual({ data: {} });
});

test.each<readonly [why: string, over: Partial<Entry>]>([
  ['refused', { verdict: 'refused' }],
  ['not-v1', { route: 'pass', verdict: 'passed' }],
  ['duplicate', { edits: [{ change: 'c', rule: 'rename', from: '/a', note: 'duplicate' }] }],
  ['mark', { edits: [{ change: 'c', rule: 'strip', note: 'byte-order-mark' }] }],
  ['value', { edits: [{ change: 'c', rule: 'map', from: '/a', path: '/a' }] }],
  ['unrecorded', { edits: [], attributes: undefined, bytesIn: 9 }],
])('an entry that its names do not fully describe is called %s', (why, over) => {
  expect(requestLike({ ...sampleEntry(0, 0), ...over })).toBe(why);
});
