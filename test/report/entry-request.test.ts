import { expect, test } from 'vitest';
import { requestLike } from '../../src/report/entry-request.ts';
import { sampleEntry } from '../support/sample-entries.ts';

test('a request like one with an empty wrapper has an object in it, which V1 accepts', () => {
  const edits = [{ change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' }] as const;
  const like = requestLike({ ...sampleEntry(0, 0), edits, attributes: ['/data'] });
  expect(JSON.parse(like?.body ?? '')).toEqual({ data: {} });
});
