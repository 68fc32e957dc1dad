import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { WatchedFiles } from '../../src/node/files.ts';
import { RENEWALS, type RenewedFolder } from '../support/changed-files.ts';

/** Watches two files that are faulty unless they have the same text. */
function watchPair({ path }: RenewedFolder, since = Number.POSITIVE_INFINITY) {
  const files = [path('cert'), path('key')];
  const taken: string[] = [];
  const told: string[] = [];
  const watched = new WatchedFiles(
    [
      {
        files,
        reload: () => {
          const [cert = '', key = ''] = files.map((file) => readFileSync(file, 'utf8'));
          if (cert !== key) return [`${cert} is not ${key}`];
          taken.push(cert);
          return [];
        },
        onFaults: (faults) => void told.push(...faults),
      },
    ],
    since,
  );
  return { watched, taken, told };
}

describe.for(Object.entries(RENEWALS))('%s', ([, folderWith]) => {
  test('is found at the next check, once', async () => {
    const folder = folderWith({ cert: 'a', key: 'a' });
    const { watched, taken, told } = watchPair(folder);
    await watched.check();
    await watched.check();
    expect(taken).toEqual([]);
    // As many bytes as before.
    folder.renew({ cert: 'b', key: 'b' });
    await watched.check();
    await watched.check();
    expect(taken).toEqual(['b']);
    expect(told).toEqual([]);
  });

  test('of one file before the other is not reported, and both are taken once they match', async () => {
    const folder = folderWith({ cert: 'a', key: 'a' });
    const { watched, taken, told } = watchPair(folder);
    await watched.check();
    folder.renew({ cert: 'b' });
    await watched.check();
    await watched.check();
    folder.renew({ key: 'b' });
    await watched.check();
    expect({ taken, told }).toEqual({ taken: ['b'], told: [] });
  });

  test('of one file alone is reported, once, and the next change is still read', async () => {
    const folder = folderWith({ cert: 'a', key: 'a' });
    const { watched, taken, told } = watchPair(folder);
    await watched.check();
    folder.renew({ cert: 'b' });
    for (let check = 0; check < 10; check += 1) await watched.check();
    expect({ taken, told }).toEqual({ taken: [], told: ['b is not a'] });
    folder.renew({ cert: 'c', key: 'c' });
    await watched.check();
    expect(taken).toEqual(['c']);
  });
});

test('a file that disappears is reported, and read when it is back', async () => {
  const folder = plainPair();
  const { watched, taken, told } = watchPair(folder);
  await watched.check();
  rmSync(folder.path('key'));
  for (let check = 0; check < 10; check += 1) await watched.check();
  expect(told).toEqual([expect.stringMatching(/ENOENT.*key/)]);
  writeFileSync(folder.path('key'), 'a');
  await watched.check();
  expect(taken).toEqual(['a']);
});

test('a file that changed between the reading at start and the first check is read again', async () => {
  const since = Date.now();
  const { watched, taken } = watchPair(plainPair(), since - 1000);
  await watched.check();
  expect(taken).toEqual(['a']);
});

function plainPair(): RenewedFolder {
  const make = RENEWALS['a rewrite in place'];
  if (make === undefined) throw new Error('no such renewal');
  return make({ cert: 'a', key: 'a' });
}
