import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { applyStrips } from '../../src/cli/report/report.ts';
import { nameClient } from '../../src/node/admin/names.ts';
import { removeDrafts, replaceFile, replaceFileSync } from '../../src/node/files.ts';
import { FileStore } from '../../src/node/rollout/file-store.ts';
import { RolloutCopy } from '../../src/node/rollout/open-rollout.ts';
import { ROLLOUT_KEY } from '../../src/rollout/stored-rollout.ts';
import { initialRollout } from '../../src/rollout/rollout-state.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

let folder = '';
beforeEach(() => {
  folder = temporaryFolder('replace');
});

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

const RULES = readFileSync('config/rules.yaml', 'utf8');

/** Everything that replaces a file that people or other programs share, with a first content. */
const WRITERS: readonly (readonly [
  name: string,
  before: string,
  write: (path: string) => Promise<unknown>,
])[] = [
  ['names', '# ours\n', async (path) => nameClient(path, '3fa94c1d0e5b7a21', 'Acme')],
  [
    'a rule book',
    RULES,
    async (path) =>
      applyStrips(path, [
        { operation: 'create_client', member: 'fax', why: 'V1 called it deprecated', clients: [] },
      ]),
  ],
  [
    'the rollout',
    'old',
    async (path) => {
      const store = new FileStore(path);
      await store.compareAndSet(ROLLOUT_KEY, 'old', 'new');
      await store.close();
    },
  ],
  [
    'the copy of the rollout',
    'old',
    async (path) => {
      const copy = new RolloutCopy(path, () => {});
      copy.write(initialRollout);
      await copy.close();
    },
  ],
  ['any file', 'old', async (path) => replaceFile(path, 'new')],
  ['any file, at once', 'old', async (path) => replaceFileSync(path, 'new')],
];

describe.each(WRITERS)('%s', (_, before, write) => {
  test.each([0o600, 0o640, 0o444, 0o664])('keeps its mode', async (mode) => {
    const path = join(folder, 'file.yaml');
    writeFileSync(path, before);
    chmodSync(path, mode);
    await write(path);
    expect(readFileSync(path, 'utf8')).not.toBe(before);
    expect(modeOf(path)).toBe(mode.toString(8));
  });

  test('stays where a link leads to it', async () => {
    const [path, link] = [join(folder, 'file.yaml'), join(folder, 'link.yaml')];
    writeFileSync(path, before, { mode: 0o600 });
    symlinkSync(path, link);
    await write(link);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(path, 'utf8')).not.toBe(before);
    expect(modeOf(path)).toBe('600');
  });

  test.runIf(process.getuid?.() === 0)('keeps its owner', async () => {
    const path = join(folder, 'file.yaml');
    writeFileSync(path, before, { mode: 0o640 });
    chownSync(path, 1234, 2345);
    await write(path);
    expect(statSync(path)).toMatchObject({ uid: 1234, gid: 2345 });
    expect(modeOf(path)).toBe('640');
  });
});

// Attack: another user who may write to the folder puts a link where the next content is written first.
test('no link at a predictable name is written through', async () => {
  const [names, secret] = [join(folder, 'names.yaml'), join(folder, 'secret')];
  writeFileSync(secret, 'secret', { mode: 0o600 });
  writeFileSync(names, '');
  for (const end of ['tmp', 'new', `${process.pid}.new`, `${process.pid}.tmp`, String(process.pid), '~'])
    symlinkSync(secret, `${names}.${end}`);
  expect(nameClient(names, '3fa94c1d0e5b7a21', 'Acme')).toBeUndefined();
  expect(lstatSync(names).isSymbolicLink()).toBe(false);
  expect(readFileSync(secret, 'utf8')).toBe('secret');
});

test('a file that cannot be replaced leaves nothing behind', async () => {
  expect(nameClient(join(folder, 'none', 'names.yaml'), '3fa94c1d0e5b7a21', 'Acme')?.fault).toContain(
    'ENOENT',
  );
  writeFileSync(join(folder, 'file'), '');
  await expect(replaceFile(join(folder, 'file', 'inside'), 'x')).rejects.toThrow('ENOTDIR');
  expect(() => replaceFileSync(join(folder, 'file', 'inside'), 'x')).toThrow('ENOTDIR');
  expect(readdirSync(folder)).toEqual(['file']);
});

test('a file of names keeps its line ends', () => {
  const path = join(folder, 'names.yaml');
  writeFileSync(path, '# ours\r\n3fa94c1d0e5b7a21: Acme # the first\r\n');
  expect(nameClient(path, '4fa94c1d0e5b7a21', 'Bell')).toBeUndefined();
  expect(readFileSync(path, 'utf8')).toBe(
    '# ours\r\n3fa94c1d0e5b7a21: Acme # the first\r\n4fa94c1d0e5b7a21: Bell\r\n',
  );
});

describe('drafts that a killed process left', () => {
  const id = (): string => randomUUID();
  const put = (name: string, ageMs: number): string => {
    const path = join(folder, name);
    writeFileSync(path, 'half');
    const time = new Date(Date.now() - ageMs);
    utimesSync(path, time, time);
    return name;
  };
  const OLD = 3_600_000;
  const files = (): readonly string[] => readdirSync(folder).toSorted();

  test('are removed, and nothing else is', async () => {
    const kept = [
      put('modes.json', OLD),
      put('modes.json.last-good', OLD),
      put('modes.json.lock', OLD),
      put(`modes.json.counts.${id()}`, OLD),
      put('modes.json.tmp', OLD),
      put('modes.json.0.tmp', OLD),
      put(`modes.json.${id()}`, OLD),
      put(`modes.json.${id()}.tmp.bak`, OLD),
      put(`modes.json.${id().toUpperCase()}.tmp`, OLD),
      put(`modes.json${id()}.tmp`, OLD),
      put(`other.json.${id()}.tmp`, OLD),
      put(`my-modes.json.${id()}.tmp`, OLD),
      put(`${id()}.tmp`, OLD),
    ];
    put(`modes.json.${id()}.tmp`, OLD);
    put(`modes.json.last-good.${id()}.tmp`, OLD);
    put(`modes.json.counts.${id()}.${id()}.tmp`, OLD);
    const directory = `modes.json.${id()}.tmp`;
    mkdirSync(join(folder, directory));
    const link = `modes.json.${id()}.tmp`;
    symlinkSync(join(folder, 'modes.json'), join(folder, link));
    await removeDrafts(join(folder, 'modes.json'));
    expect(files()).toEqual([...kept, directory, link].toSorted());
  });

  test('are removed beside the file that a link leads to, and where the file itself is missing', async () => {
    mkdirSync(join(folder, 'links'));
    writeFileSync(join(folder, 'names.yaml'), '');
    symlinkSync(join(folder, 'names.yaml'), join(folder, 'links', 'n.yaml'));
    put(`names.yaml.${id()}.tmp`, OLD);
    put(`gone.yaml.${id()}.tmp`, OLD);
    await removeDrafts(join(folder, 'links', 'n.yaml'));
    await removeDrafts(join(folder, 'gone.yaml'));
    await removeDrafts(join(folder, 'no-such-folder', 'gone.yaml'));
    expect(files()).toEqual(['links', 'names.yaml']);
  });

  test.each([
    ['just made', 0],
    ['made by a clock that is ahead', -3_600_000],
  ])('stay while they may still be written, and are removed afterwards: %s', async (_how, ageMs) => {
    const left = put(`modes.json.${id()}.tmp`, ageMs);
    const written = put(`modes.json.${id()}.tmp`, ageMs);
    await removeDrafts(join(folder, 'modes.json'), 1000);
    expect(files()).toEqual([left, written].toSorted());
    put(written, ageMs + 60_000);
    await until(() => !files().includes(left));
    expect(files()).toEqual([written]);
  });
});
