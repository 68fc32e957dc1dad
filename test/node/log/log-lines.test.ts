import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { LogLines } from '../../../src/node/log/log-lines.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

const AT = Date.UTC(2026, 10, 22, 7);
const STAMP = '2026-11-22T07:00:00.001Z';
const lines = [1, 2].map((n) => entryLine(sampleEntry(n, AT + n)).trim());
const values = lines.map((line) => JSON.parse(line) as object);
const untimed = lines.map((line) => JSON.parse(line.replace(/"time":"[^"]*",/, '')) as object);

/** The output of the tool for each line. */
const each = (write: (line: string, at: number) => string): string => lines.map(write).join('\n');
const json = (value: unknown): string => JSON.stringify(value);
const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const records = (of: (line: string, at: number) => object): string => each((line, at) => json(of(line, at)));
const half = (line: string): readonly [string, string] => [line.slice(0, 300), line.slice(300)];

function read(text: string, chunk = Number.POSITIVE_INFINITY): readonly string[] {
  const reader = new LogLines();
  let out = '';
  let piece = '';
  for (const line of text.split(/(?<=\n)/)) {
    piece += line;
    if (piece.length < chunk) continue;
    out += reader.add(Buffer.from(piece)).toString();
    piece = '';
  }
  out += reader.add(Buffer.from(piece)).toString() + reader.end().toString();
  return out.split('\n').filter((line) => line !== '');
}

const attribute = (value: unknown): object =>
  typeof value === 'number'
    ? Number.isInteger(value)
      ? { intValue: String(value) }
      : { doubleValue: value }
    : Array.isArray(value)
      ? { arrayValue: { values: value.map(attribute) } }
      : typeof value === 'object' && value !== null
        ? {
            kvlistValue: {
              values: Object.entries(value).map(([key, one]) => ({ key, value: attribute(one) })),
            },
          }
        : { stringValue: value };

const FORMS: readonly (readonly [form: string, text: string])[] = [
  ['the log itself', each((line) => line)],
  ['CR LF', each((line) => `${line}\r`)],
  ['a byte order mark', `\uFEFF${each((line) => line)}`],
  ['joined files with marks', each((line) => `\uFEFF${line}`)],
  ['NUL bytes of copytruncate', `${'\0'.repeat(4096)}${each((line) => line)}`],
  ['json.dumps of Python', each((line) => line.replaceAll('":', '": ').replaceAll(',"', ', "'))],
  ['jq .', values.map((value) => JSON.stringify(value, undefined, 2)).join('\n')],
  ['jq -s .', JSON.stringify(values, undefined, 2)],
  ['jq -C -c', each((line) => `\u001B[1;39m${line.replaceAll(':', '\u001B[0m:\u001B[32m')}\u001B[0m`)],
  ['entries without a line feed between them', lines.join('')],
  ['an array on one line', json(values)],
  [
    'a line cut by a crash, then the next on the same line',
    `${lines[0]}\n${lines[0]?.slice(0, 400)}${lines[1]}`,
  ],
  ['npm start before it', `\n> capture-gateway@1.0.0 start\n> node cli.js\n\n${each((line) => line)}`],
  ['docker logs -t', each((line) => `2026-11-22T07:00:00.001000000Z ${line}`)],
  ['Docker json-file', records((line) => ({ log: `${line}\n`, stream: 'stdout', time: STAMP }))],
  [
    'Docker json-file after npm',
    `${json({ log: '> start\n', stream: 'stdout', time: STAMP })}\n${records((line) => ({ log: `${line}\n`, stream: 'stdout', time: STAMP }))}`,
  ],
  [
    'Docker json-file, cut, with the other stream between',
    each((line) =>
      [
        { log: half(line)[0], stream: 'stdout', time: STAMP },
        { log: 'a warning\n', stream: 'stderr', time: STAMP },
        { log: `${half(line)[1]}\n`, stream: 'stdout', time: STAMP },
      ]
        .map(json)
        .join('\n'),
    ),
  ],
  ['CRI', each((line) => `2026-11-22T07:00:00.001123456Z stdout F ${line}`)],
  [
    'CRI, cut',
    each(
      (line) =>
        `2026-11-22T07:00:00.1Z stdout P ${half(line)[0]}\n2026-11-22T07:00:00.1Z stdout F ${half(line)[1]}`,
    ),
  ],
  ['stern', each((line) => `gateway-7d9f-x gateway ${line}`)],
  ['klog', each((line) => `I1122 07:00:00.000001 1 main.go:1] ${line}`)],
  ['journalctl', each((line) => `Nov 22 07:00:00 host gateway[12]: ${line}`)],
  ['journalctl -o export', each((line) => `__REALTIME_TIMESTAMP=1795330800000000\nMESSAGE=${line}\n`)],
  ['journalctl -o verbose', each((line) => `    _PID=12\n    MESSAGE=${line}`)],
  [
    'journalctl -o json, systemd first',
    `${json({ MESSAGE: 'Started gateway.', _PID: '1', __REALTIME_TIMESTAMP: '1795330800000000' })}\n${records((line) => ({ MESSAGE: line, _PID: '12' }))}`,
  ],
  ['journalctl -o json, as bytes', records((line) => ({ MESSAGE: [...Buffer.from(line)], _PID: '12' }))],
  [
    'journalctl -o json, cut at LineMax',
    each((line) =>
      half(line)
        .map((MESSAGE) => json({ MESSAGE, _PID: '12', __CURSOR: MESSAGE.length }))
        .join('\n'),
    ),
  ],
  [
    'journalctl -o json-pretty',
    each((line) => JSON.stringify({ _PID: '12', MESSAGE: line }, undefined, '\t')),
  ],
  ['journalctl -o json-seq', each((line) => `\u001E${json({ MESSAGE: line })}`)],
  ['journalctl -o json-sse', each((line) => `data: ${json({ MESSAGE: line })}\n`)],
  ['RFC 3164', each((line) => `<134>Nov 22 07:00:00 host gateway: ${line}`)],
  ['RFC 5424', each((line) => `<134>1 ${STAMP} host gateway 12 - [a@1 b="c"] \uFEFF${line}`)],
  [
    'RFC 6587, counted',
    lines.map((line) => `${line.length + 30} <134>1 ${STAMP} h g 1 - - ${line}`).join(''),
  ],
  [
    'gcloud logging read --format=json, of which Cloud Logging took the time',
    JSON.stringify(
      untimed.map((jsonPayload, at) => ({
        insertId: 'x',
        jsonPayload,
        timestamp: `2026-11-22T07:00:00.00${at + 1}000Z`,
      })),
      undefined,
      2,
    ),
  ],
  ['Cloud Logging, text', records((textPayload) => ({ insertId: 'x', textPayload, timestamp: STAMP }))],
  ['aws logs tail', each((line) => `2026-11-22T07:00:00.001000+00:00 gateway/1 ${line}`)],
  [
    'aws logs --output text',
    each((line) => `EVENTS\t3766\t1795330800001\t${line}\tgateway/1\t1795330800001`),
  ],
  [
    'aws logs filter-log-events',
    JSON.stringify(
      { events: lines.map((message) => ({ logStreamName: 'a', timestamp: 1, message })) },
      undefined,
      4,
    ),
  ],
  [
    'CloudWatch Logs Insights',
    json({
      results: lines.map((value) => [
        { field: '@timestamp', value: STAMP },
        { field: '@message', value },
      ]),
    }),
  ],
  [
    'CloudWatch Logs Insights, CSV',
    `@timestamp,@message\n${each((line) => `2026-11-22 07:00:00.001,${cell(line)}`)}`,
  ],
  [
    'CloudWatch subscription',
    json({
      awslogs: {
        data: gzipSync(
          json({ messageType: 'DATA_MESSAGE', logEvents: lines.map((message) => ({ message })) }),
        ).toString('base64'),
      },
    }),
  ],
  ['Firehose to S3, without line feeds', lines.map((message) => json({ logEvents: [{ message }] })).join('')],
  ['Azure ContainerLogV2', records((LogMessage) => ({ TimeGenerated: STAMP, PodName: 'a', LogMessage }))],
  ['Azure ContainerLogV2, CSV', `TimeGenerated,LogMessage\n${each((line) => `${STAMP},${cell(line)}`)}`],
  ['Datadog', json({ data: values.map((attributes) => ({ attributes: { timestamp: STAMP, attributes } })) })],
  ['logcli', each((line) => `2026-11-22T07:00:00Z {app="gateway", pod="a"} ${line}`)],
  ['logcli -o jsonl', records((line) => ({ labels: { app: 'gateway' }, line, timestamp: STAMP }))],
  [
    "Loki's API",
    json({
      data: {
        result: [{ stream: { app: 'g' }, values: lines.map((line) => ['1795330800000000000', line]) }],
      },
    }),
  ],
  [
    'Elasticsearch, as a search responds',
    json({
      hits: { hits: values.map((value) => ({ _id: 'a', _source: { '@timestamp': STAMP, gateway: value } })) },
    }),
  ],
  [
    'Elasticsearch, one a line',
    records((message) => ({ _index: 'a', _source: { '@timestamp': STAMP, message } })),
  ],
  ['Splunk', records((_raw) => ({ preview: false, result: { _raw, _time: STAMP } }))],
  ['Splunk, CSV', `_time,_raw\n${each((line) => `${STAMP},${cell(line)}`)}`],
  [
    'GELF',
    records((short_message) => ({ version: '1.1', host: 'a', short_message, timestamp: 1_795_330_800.001 })),
  ],
  [
    'Fluentd, of which the parser took the time',
    untimed.map((value, at) => `2026-11-22T07:00:00.00${at + 1}+00:00\tgateway\t${json(value)}`).join('\n'),
  ],
  [
    'Fluent Bit',
    untimed.map((value, at) => json({ date: 1_795_330_800.001 + at / 1000, ...value })).join('\n'),
  ],
  [
    'Fluent Bit, stdout',
    each((line) => `[0] gw: [[1795330800.1, {}], {"log"=>"${line}", "stream"=>"stdout"}]`),
  ],
  ['Fluent Bit, stdout, escaped', each((line) => `[0] gw: [1795330800.1, {"log"=>${json(line)}}]`)],
  ['Vector', records((message) => ({ host: 'a', message, source_type: 'docker_logs', timestamp: STAMP }))],
  ['Logstash', records((original) => ({ '@version': '1', event: { original }, '@timestamp': STAMP }))],
  ['Filebeat', records((message) => ({ '@timestamp': STAMP, message, log: { offset: 1 } }))],
  ['Heroku', each((line) => `${STAMP} app[web.1]: ${line}`)],
  ['Fly', each((line) => `${STAMP} app[178] fra [info]${line}`)],
  ['PM2', each((line) => `0|gateway  | ${line}`.replace('0|gateway  | ', '0|gw: '))],
  ['logfmt', each((line) => `time=${STAMP} level=info msg=${json(line)}`)],
  ['multilog', each((line) => `@400000006a0f1c3812345678 ${line}`)],
  [
    'OpenTelemetry, body as text',
    json({
      resourceLogs: [
        { scopeLogs: [{ logRecords: lines.map((stringValue) => ({ body: { stringValue } })) }] },
      ],
    }),
  ],
  [
    'OpenTelemetry, body as members',
    json({
      resourceLogs: [{ scopeLogs: [{ logRecords: values.map((value) => ({ body: attribute(value) })) }] }],
    }),
  ],
];

test.each(FORMS)('finds each entry in %s', (_, text) => {
  for (const chunk of [Number.POSITIVE_INFINITY, 1]) {
    const found = read(text, chunk).flatMap((line): object[] => {
      try {
        return [JSON.parse(line) as object];
      } catch {
        return [];
      }
    });
    expect(found.filter((value) => 'verdict' in value)).toMatchObject(values);
  }
});

test('the name of a replica before an entry stays, without its colour', () => {
  expect(read(each((line) => `\u001B[36mgateway-1  | \u001B[0m${line}`))).toEqual(
    lines.map((line) => `gateway-1  | ${line}`),
  );
});

test.each([
  'hello',
  '{"a":1}',
  '---',
  '- name: other',
  lines[0]?.slice(0, 300) ?? '',
  json({ MESSAGE: null, __REALTIME_TIMESTAMP: '1795330800000000' }),
])('a line that may have been an entry is passed on: %s', (line) => {
  expect(read(`${line}\n${lines[1]}\n`)).toEqual(expect.arrayContaining([line, lines[1]]));
});

test.each([
  ['a document that is no YAML', `---\n  "unclosed\n${lines[0]}`, 1],
  ['an entry that is indented after a line of marks', `---\n ${lines[0]}\n- a: "\n ${lines[1]}`, 2],
  [
    'aliases that grow',
    `---\na: &a [x,x]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]\n${lines[0]}`,
    1,
  ],
  ['a name under which the same text is found twice', json({ MESSAGE: lines[0], LEGACY: lines[0] }), 1],
])('%s', (_, text, entries) => {
  expect(read(text).filter((line) => line.includes('"verdict"'))).toEqual(lines.slice(0, entries));
});

test('a record of another program is left out', () => {
  expect(read(json({ MESSAGE: 'Started.', __REALTIME_TIMESTAMP: '1795330800000000' }))).toEqual([]);
});
