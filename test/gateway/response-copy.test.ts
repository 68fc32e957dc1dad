import { expect, test } from 'vitest';
import { type CopyOutcome, ResponseCopy } from '../../src/gateway/response-copy.ts';
import type { HeaderList } from '../../src/http/header-list.ts';

const HEADERS: HeaderList = ['content-type', 'application/json'];

/** Copies a response of so many parts of four bytes, whose memory is used again. */
function copied(
  {
    parts,
    limit,
    room,
  }: { readonly parts: number; readonly limit: number | undefined; readonly room: number },
  breaksOff = false,
): { readonly copy: ResponseCopy; readonly outcomes: readonly CopyOutcome[]; readonly wasTaken: boolean } {
  const outcomes: CopyOutcome[] = [];
  let left = room;
  const take = (bytes: number): boolean => (left -= bytes) >= 0;
  const copy = new ResponseCopy({ limit: () => limit, take, done: (outcome) => outcomes.push(outcome) });
  copy.head({ status: 200, headers: HEADERS });
  const wasTaken = copy.isTaken;
  const lent = new Uint8Array(4);
  for (let part = 0; part < parts; part += 1) copy.data(lent.fill(part));
  lent.fill(255);
  if (breaksOff) copy.fail({ kind: 'closed', mayHaveArrived: true, cause: 'x' });
  else copy.end();
  copy.end();
  return { copy, outcomes, wasTaken };
}

test.each([
  ['as long as the limit', 2, 8, [0, 0, 0, 0, 1, 1, 1, 1]],
  ['empty', 0, 8, []],
  ['empty, where nothing may be longer', 0, 0, []],
])('a response is copied whole, and reported once: %s', (_, parts, limit, bytes) => {
  const { copy, outcomes, wasTaken } = copied({ parts, limit, room: 1 << 20 });
  expect(wasTaken).toBe(true);
  expect(outcomes).toEqual([{ status: 200, headers: HEADERS, body: Uint8Array.from(bytes) }]);
  expect([copy.outcome, copy.status, copy.isTaken]).toEqual([outcomes[0], 200, false]);
});

test.each([
  ['longer than the limit', { parts: 3, limit: 8, room: 1 << 20 }, false, 'too-large', true],
  ['without room in the budget', { parts: 2, limit: 8, room: 0 }, false, 'too-large', true],
  ['that breaks off', { parts: 1, limit: 8, room: 1 << 20 }, true, 'closed', true],
  ['that is not to be copied', { parts: 1, limit: undefined, room: 0 }, false, 'too-large', false],
])('no copy is kept of a response %s', (_, response, breaksOff, fault, isTaken) => {
  const { copy, outcomes, wasTaken } = copied(response, breaksOff);
  expect([outcomes, copy.outcome, wasTaken, copy.isTaken]).toEqual([[fault], fault, isTaken, false]);
});
