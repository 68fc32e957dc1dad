/** @module-tag bash */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Explanation, Report } from '../../src/inspector/api.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { type CommandRun, commandRun } from '../support/command-runs.ts';
import { command } from '../support/command.ts';
import { inspected } from '../support/inspected.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { PROGRAM } from '../support/product.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let folder = '';

beforeEach(() => {
  folder = temporaryFolder('gateway');
});

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function log(count: number, from = 0): string {
  return Array.from({ length: count }, (_, n) =>
    entryLine(sampleEntry(from + n, Date.UTC(2026, 10, 1) + n * 60_000)),
  ).join('');
}

const run = (...args: string[]): Promise<CommandRun> => commandRun(args);

describe('report', () => {
  test('adds up plain and packed files, and prints every format', async () => {
    const files = [file('a.ndjson', log(300)), file('b.ndjson.gz', gzipSync(log(300, 300)))];
    const { code, out, err } = await run('report', ...files, '--format', 'json');
    expect([code, err]).toEqual([0, '']);
    const report = JSON.parse(out) as Report;
    expect(report.entries).toBe(600);
    expect(report.v1 + report.v2).toBe(600);
    expect((await run('report', ...files, '--format', 'csv')).out.split('\r\n')).toHaveLength(
      report.clients.length + 2,
    );
    expect((await run('report', ...files, '--format', 'md')).out).toContain('# Who still needs V1');
    expect((await run('report', ...files)).out).toContain('fields to change');
    const census = (await run('report', ...files, '--census')).out;
    expect(census).toContain('order_post_production /legacy_flag: sent');
  });

  test('reads many logs as one: a folder, a pattern, Zstandard, a stream of packed logs', async () => {
    mkdirSync(join(folder, 'fleet'), { recursive: true });
    const [first, second] = [log(300), log(300, 300)];
    file('fleet/a.ndjson.zst', zstdCompressSync(first));
    file('fleet/b.ndjson', second);
    const entriesOf = async (...given: string[]): Promise<number> => {
      const { code, out } = await run('report', ...given, '--format', 'json');
      expect(code).toBe(0);
      return (JSON.parse(out) as Report).entries;
    };
    expect(await entriesOf(join(folder, 'fleet'))).toBe(600);
    expect(await entriesOf(join(folder, 'fleet/*.ndjson*'), join(folder, 'fleet'))).toBe(600);
    const piped = (path: string): ReturnType<typeof spawnSync> =>
      spawnSync('bash', ['-c', `cat ${path} | node ${PROGRAM} report - --format json`], {
        encoding: 'utf8',
      });
    const packed = piped(file('fleet.gz', Buffer.concat([first, second].map((text) => gzipSync(text)))));
    expect((JSON.parse(String(packed.stdout)) as Report).entries).toBe(600);
    const once = piped(file('one.zst', zstdCompressSync(first)));
    expect((JSON.parse(String(once.stdout)) as Report).entries).toBe(300);
    // Node unpacks the first frame of two, and says nothing.
    const twice = piped(
      file('two.zst', Buffer.concat([first, second].map((text) => zstdCompressSync(text)))),
    );
    expect([twice.status, twice.stderr]).toEqual([
      1,
      expect.stringContaining('after the first Zstandard frame'),
    ]);
  });

  test('proposes strips where V1 called an attribute deprecated, and writes them into the rule book', async () => {
    const entries = Array.from({ length: 4 }, (_, n) =>
      entryLine({
        ...sampleEntry(0, Date.UTC(2026, 10, 1) + n),
        mode: 'observe',
        origin: 'v1',
        verdict: 'passed',
        attributes: ['/data', '/data/name', '/data/legacy_flag'],
        deprecated: ['/data/legacy_flag'],
      }),
    );
    const path = file('a.ndjson', entries.join(''));
    const census = (await run('report', path, '--census')).out;
    expect(census).toContain('- strip: [legacy_flag]');
    expect(census).toContain('V1 called it deprecated 4×');
    const rules = file('rules.yaml', readFileSync('config/rules.yaml'));
    const applied = await run('report', path, '--census', '--apply', '--rules', rules);
    expect(applied).toMatchObject({ code: 0, err: '' });
    expect(applied.out).toContain('now strips legacy_flag');
    expect(readFileSync(rules, 'utf8')).toContain('- id: removed-from-create-client');
    const again = await run('report', path, '--census', '--apply', '--rules', rules, '--json');
    expect(JSON.parse(again.out)).toEqual({ rules, written: [] });
  });

  test('counts silence from now, or from a given time', async () => {
    const path = file('a.ndjson', log(50));
    const at = async (time: string): Promise<Report> =>
      JSON.parse((await run('report', path, '--format', 'json', '--at', time)).out) as Report;
    expect((await at('2026-11-02')).switchOff.verdict).toBe('no');
    expect((await at('2027-11-02')).classes.gone).toBeGreaterThan(10);
    expect((await run('report', path, '--at', 'soon')).code).toBe(2);
    expect(await run('report', file('empty', ''))).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('does not show who uses V1'),
    });
  });

  test('names clients, and writes the guide of one', async () => {
    const path = file('a.ndjson', log(300));
    const client = sampleEntry(1, 0).client ?? '';
    const names = file('names.yaml', `${client}: Harcourts Richmond\n`);
    expect((await run('report', path, '--names', names, '--format', 'md')).out).toContain(
      'Harcourts Richmond',
    );
    const guide = await run('report', path, '--names', names, '--client', client.slice(0, 12), '--guide');
    expect(guide.out).toContain('# From V1 to V2: Harcourts Richmond');
    expect(guide.out).toContain('"address": {');
    expect((await run('report', path, '--client', '0', '--guide')).err).toContain('give more digits');
    expect(await run('report', path, '--client', 'fffffff', '--guide')).toEqual({
      code: 2,
      out: '',
      err: 'The log has no V1 request of a client whose hash begins with fffffff.\n',
    });
  });

  test.each([
    [
      ['--guide', '--client', '42dd', '--format', 'csv'],
      '--guide cannot be printed as csv; its formats are text, md, html, mail, eml, json, skill.',
    ],
    [['--census', '--format', 'csv'], '--census cannot be printed as csv; its formats are text, md, json.'],
    [['--digest', '--format', 'csv'], '--digest cannot be printed as csv; its formats are text, md, json.'],
    [
      ['--census', '--apply', '--format', 'md'],
      '--apply cannot be printed as md; its formats are text, json.',
    ],
    [
      ['--guide', '--client', '42dd', '--digest'],
      '--guide and --digest cannot be printed together; give one of them.',
    ],
    [['--digest', '--census'], '--digest and --census cannot be printed together; give one of them.'],
    [['--guide', '--client', '42dd', '--apply'], '--apply requires --census.'],
    [['--format', 'html'], '--format html requires --guide.'],
    [['--format', 'skill'], '--format skill requires --guide.'],
    [
      ['--guide', '--client', 'a', '--format', 'skill'],
      '--format skill requires --into with a new folder, and --into requires --format skill.',
    ],
    [['--client', '42dd'], '--client requires --guide.'],
  ])('refuses options that do not go together: %j', async (options, sentence) => {
    expect(await run('report', ...options)).toEqual({ code: 2, out: '', err: `${sentence}\n` });
  });

  test('says what it cannot read', async () => {
    const junk = file('x', 'hello\n\n{"a":1}\n{"level":"info","event":"started"}\n');
    const { out, err, code } = await run('report', junk, '--format', 'json');
    expect(JSON.parse(out)).toMatchObject({ entries: 0, logs: [{ unreadable: 0, others: 2, events: 1 }] });
    expect([code, err]).toEqual([1, expect.stringContaining('is not a rewrite log')]);
    expect((await run('report', file('g.gz', gzipSync(log(50)).subarray(0, 200)))).code).toBe(1);
  });
});

describe('explain', () => {
  test('explains a file, with an exit code for CI', async () => {
    const order = file('request.json', '{"data":{"property":{"suburb":"Enmore"}}}');
    const text = await run('explain', order, '--operation', 'order_floor_plan');
    expect(text.code).toBe(0);
    expect(text.out).toContain('{"property":{"address":{"suburb":"Enmore"}}}');
    expect((await run('explain', order, '--operation', 'order_floor_plan', '--fail-on', 'edits')).code).toBe(
      1,
    );
    expect((await run('explain', order, '--operation', 'nothing')).code).toBe(2);
    expect((await run('explain', order)).err).toMatch(/^--operation is missing: /);
    expect((await run('explain', order, '--method', 'POST')).err).toMatch(/^--target is missing: /);
    expect((await run('explain', order, '--target', '/api/v1/clients')).err).toMatch(
      /^--method is missing: /,
    );
    const refused = file('twice.json', '{"data":{},"data":{}}');
    const json = await run('explain', refused, '--operation', 'create_client', '--format', 'json');
    expect(json.code).toBe(1);
    expect((JSON.parse(json.out) as Explanation).refusal).toMatchObject({ code: 'duplicate-member' });
  });

  test('lists no edit of a body that is flat already', async () => {
    const flat = file('flat.json', '{"name":"A"}');
    const { out } = await run('explain', flat, '--operation', 'create_client');
    expect(out).toContain('the body is already flat');
    expect(out).not.toContain('Edits');
    const wrapped = file('wrapped.json', '{"data":{"name":"A"}}');
    expect((await run('explain', wrapped, '--operation', 'create_client')).out).toContain('Edits');
  });

  test('explains requests as curl, browsers, Postman and the log have them', async () => {
    const body = '{"data":{"name":"x"}}';
    const curl = await run(
      'explain',
      '--curl',
      `curl -sX POST https://captur3d.io/api/v1/clients -H 'Content-Type: application/json' -d '${body}'`,
    );
    expect(curl.out).toContain('{"name":"x"}');
    const headers = [{ name: 'content-type', value: 'application/json' }];
    const request = { method: 'POST', url: 'https://x/api/v1/clients', headers, postData: { text: body } };
    const har = file('a.har', JSON.stringify({ log: { entries: [{ request }] } }));
    expect((await run('explain', '--har', har)).out).toContain('{"name":"x"}');
    const raw = { mode: 'raw', raw: body, options: { raw: { language: 'json' } } };
    const create = { name: 'Create', request: { ...request, url: '{{base}}/api/v1/clients', body: raw } };
    const postman = file('c.json', JSON.stringify({ item: [{ name: 'Folder', item: [create] }] }));
    const named = await run('explain', '--postman', postman);
    expect(named.out).toContain('Folder / Create');
    expect(named.out).toContain('{"name":"x"}');
    expect((await run('explain', '--log', file('l.ndjson', log(20)))).out).toContain('order_floor_plan');
    expect((await run('explain', '--har', har, '--postman', postman)).code).toBe(2);
  });
});

describe('replay', () => {
  test('compares a change of rules with recorded exchanges', async () => {
    const fixture = join(folder, 'fixture.ndjson');
    const recorded = await run('replay', 'record', '--log', file('l.ndjson', log(200)), '--out', fixture);
    expect(recorded.out).toMatch(/^Recorded \d+ requests, \d distinct, in /);
    expect(await run('replay', 'check', fixture)).toMatchObject({ code: 0 });
    const rules = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');
    const changed = file('rules.yaml', rules.replace('under: address', 'under: place'));
    const { code, out } = await run('replay', 'check', fixture, '--rules', changed);
    expect(code).toBe(1);
    expect(out).toMatch(/\d+ of \d+ requests change at \/property\/address/);
    expect(out).toMatch(/\d+ of \d+ requests change at \/property\/place/);
    await run('replay', 'check', fixture, '--rules', changed, '--update');
    expect(await run('replay', 'check', fixture, '--rules', changed)).toMatchObject({ code: 0 });
    expect(await run('replay', 'check', file('broken', '{"a":1}\n'))).toMatchObject({ code: 1 });
    // No request that changes is no proof where there is no request.
    for (const text of ['', '\r\n'])
      expect(await run('replay', 'check', file('empty', text))).toMatchObject({ code: 1, out: '' });
  });

  test('records what a running gateway has kept', async () => {
    const gateway = await inspected({ capture: 'bodies' });
    await gateway.post('/clients', '{"data":{"name":"Jane"}}', { authorization: 'Bearer secret-key' });
    const fixture = join(folder, 'fixture.ndjson');
    expect((await run('replay', 'record', '--admin', gateway.adminOrigin, '--out', fixture)).out).toContain(
      'Recorded 1 request, 1 distinct, in ',
    );
    const text = readFileSync(fixture, 'utf8');
    expect(text).toContain('Jane');
    expect(text).not.toContain('secret-key');
  });
});

describe('tail', () => {
  test('shows a log for people, filtered, and lets nothing in it steer the terminal', async () => {
    const evil = { ...sampleEntry(1, 0), path: '/api/v1/\u001B[2Jx' };
    const path = file('l.ndjson', `${log(30)}${JSON.stringify(evil)}\n`);
    const { out, code } = await run('tail', path, '--filter', 'op:order_floor_plan');
    expect(code).toBe(0);
    expect(out).toContain('property-address ×7');
    expect(out).not.toContain('create_client');
    expect(out).not.toContain('\u001B');
    const json = await run('tail', path, '--filter', 'verdict:passed', '--format', 'json');
    expect(
      json.out
        .trim()
        .split('\n')
        .every((line) => line.includes('"passed"')),
    ).toBe(true);
    const { client = '' } = sampleEntry(1, 0);
    const names = file('names.yaml', `${client}: Acme Media\n`);
    expect((await run('tail', path, '--names', names)).out).toMatch(/^\S+ \S+ {2}Acme Media {10}/m);
    expect(await run('tail', path, '--filter', 'colour:red')).toMatchObject({ code: 2 });
    const misspelt = await run('tail', path, '--filter', 'verdict:refusd');
    expect(misspelt).toMatchObject({ code: 2 });
    expect(misspelt.err).toContain('did you mean "refused"?');
  });

  test('follows a file that grows, and one that was replaced', async () => {
    const path = file('l.ndjson', log(1));
    const tail = command(['tail', path, '--follow', '--format', 'json']);
    await tail.until(/000000000000"/);
    await appendFile(path, entryLine(sampleEntry(11, 0)));
    await tail.until(/-00000000000b"/);
    const wrapped = { log: entryLine(sampleEntry(13, 0)), stream: 'stdout' };
    await appendFile(path, `${JSON.stringify(wrapped)}\n`);
    await tail.until(/-00000000000d"/);
    writeFileSync(path, entryLine(sampleEntry(12, 0)));
    expect(await tail.until(/-00000000000c"/)).not.toBeNull();
    await tail.stop();
  });

  test('follows a pipe until its end', async () => {
    const path = join(file('l.ndjson', ''), '..', 'pipe');
    spawnSync('mkfifo', [path]);
    const tail = command(['tail', path, '--follow', '--format', 'json']);
    const writer = await open(path, 'w');
    await writer.write(entryLine(sampleEntry(11, 0)));
    await tail.until(/-00000000000b"/);
    await writer.close();
    expect(await tail.exit).toBe(0);
  });

  test('says for a log without a match where values and names can be searched', async () => {
    const path = file('l.ndjson', log(3));
    const value = await run('tail', path, '--filter', 'FP-1003');
    expect(value).toMatchObject({ code: 0, out: '' });
    expect(value.err).toBe(
      'No entry matches. A log has no names of clients and no values of bodies: a running gateway finds those that it keeps, with --admin.\n',
    );
    expect((await run('tail', path, '--filter', 'status:599')).err).toBe('No entry matches.\n');
  });

  test('finds the clients of a log by the names that it prints', async () => {
    const path = file('l.ndjson', log(3));
    const [hash] = log(3).match(/(?<="client":")[0-9a-f]{16}/) ?? [];
    const names = file('names.yaml', `${hash}: Acme Media\n`);
    const found = await run('tail', path, '--names', names, '--filter', 'client:"Acme Media"');
    expect(found.out).toContain('Acme Media');
    const other = await run('tail', path, '--names', names, '--filter', 'client:globex');
    expect(other).toMatchObject({ out: '', err: 'No entry matches.\n' });
  });

  test('follows a running gateway', async () => {
    const gateway = await inspected();
    const tail = command(['tail', '--admin', gateway.adminOrigin, '--filter', 'op:create_client']);
    await tail.until(/outcome/);
    for (let n = 0; n < 50 && !tail.stdout().includes('create_client'); n += 1) {
      await gateway.post('/clients', '{"data":{}}');
      await pause(100);
    }
    expect(tail.stdout()).toContain('create_client');
    await tail.stop();
  });
});
