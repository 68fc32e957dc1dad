import type { TextMessage } from '../../src/cli/cases/text-cases.ts';
import type { TransformModule } from '../../src/library/capture-gateway.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { compiledRuleBookIn } from './shipped-rule-book.ts';

/** An exchange of a V1 client, and what its migration makes of it. */
export interface OneOfEach {
  readonly title: string;
  readonly request: TextMessage;
  /** V2's response to it. */
  readonly response: TextMessage;
  /** Request line and body of what V2 gets; undefined if nothing. */
  readonly sent: readonly [line: string, body: string] | undefined;
  /** Status and body of what the client gets; of a refusal, its code and pointer. */
  readonly got: readonly [status: string, body: string];
}

type Fields = TextMessage['headers'];

const typed = (type: string, ...more: Fields): Fields => [['content-type', type], ...more];
const JSON_TYPE = typed('application/json');
const FORM = typed('application/x-www-form-urlencoded');

function asked(line: string, body = '', headers = body === '' ? [] : JSON_TYPE): TextMessage {
  return { line: line.replace(' /', ' /api/v1/'), headers, body };
}

function answer(line = '200', body = '{"data":{}}', headers = JSON_TYPE): TextMessage {
  return { line, headers, body };
}

/** A field, then a file. */
const partsWith = (name: string): string =>
  `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nA\r\n--B\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\npaid\r\n--B--\r\n`;

/** A list that is rewritten in several pieces. */
const listWith = (member: string, cents: number): string =>
  `{"data":[${Array.from({ length: 2000 }, () => `{"${member}":true,"sum":${cents},"beside":"${'x'.repeat(30)}"}`).join(',')}]}`;

/** A body whose edits are more than are listed. */
const manyBeside = `{"data":{"paid":1},${Array.from({ length: 700 }, (_, at) => `"beside${at}":1`).join(',')}}`;

/** One exchange of each kind that a migration tells apart. */
export const ONE_OF_EACH: readonly OneOfEach[] = [
  {
    title: 'rules of body, query and header fields, in both directions',
    request: asked(
      'POST /bills?page=2&legacy=1&x=%2F',
      '{"data":{"paid":true,"sum":1.5,"legacy":0}}',
      typed('application/json', ['x-account', '7']),
    ),
    response: answer(
      '201',
      '{"data":{"settled":true,"sum":150}}',
      typed('application/json', ['location', '/api/v2/invoices/7'], ['etag', '"1"']),
    ),
    sent: ['POST /api/v2/invoices?offset=2&x=%2F', '{"settled":true,"sum":150}'],
    got: ['200', '{"data":{"paid":true,"sum":1.5}}'],
  },
  {
    title: 'a transform of request and response, behind rules',
    request: asked('POST /made?page=2', '{"data":{"sum":1.5}}'),
    response: answer('200', '{"data":{}}'),
    sent: ['POST /api/v2/made?page=2&q=1', '{"sum":150,"made":true}'],
    got: ['200', '{"data":{},"read":true}'],
  },
  {
    title: 'a number that no patch can have, before a transform',
    request: asked('POST /made', '{"data":{"sum":1E400}}'),
    response: answer(),
    sent: ['POST /api/v2/made?q=1', '{"sum":null,"made":true}'],
    got: ['200', '{"data":{},"read":true}'],
  },
  {
    title: 'more edits than are listed',
    request: asked('POST /bills', manyBeside),
    response: answer(),
    sent: ['POST /api/v2/invoices', '{"settled":1}'],
    got: ['200', '{"data":{}}'],
  },
  {
    title: 'a form',
    request: asked('POST /bills', 'data%5Bpaid%5D=1&data%5Bx%5D=a+b', FORM),
    response: answer(),
    sent: ['POST /api/v2/invoices', 'settled=1&x=a+b'],
    got: ['200', '{"data":{}}'],
  },
  {
    title: 'a multipart body, whose file stays',
    request: asked('POST /bills', partsWith('data[paid]'), typed('multipart/form-data; boundary=B')),
    response: answer(),
    sent: ['POST /api/v2/invoices', partsWith('settled')],
    got: ['200', '{"data":{}}'],
  },
  {
    title: 'several texts in both directions',
    request: asked('POST /bills', '{"paid":1}\n{"paid":2}\n', typed('application/x-ndjson')),
    response: answer('200', '{"data":{"settled":1}}\n{"data":{}}\n', typed('application/x-ndjson')),
    sent: ['POST /api/v2/invoices', '{"settled":1}\n{"settled":2}\n'],
    got: ['200', '{"data":{"paid":1}}\n{"data":{}}\n'],
  },
  {
    title: 'a list in pieces',
    request: asked('GET /bills?page=3'),
    response: answer('200', listWith('settled', 150)),
    sent: ['GET /api/v2/invoices?offset=3', ''],
    got: ['200', listWith('paid', 1.5)],
  },
  {
    title: 'pointers of errors',
    request: asked('POST /bills', '{"data":{"paid":"x"}}'),
    response: answer('422', '{"errors":[{"source":{"pointer":"/settled"}}]}'),
    sent: ['POST /api/v2/invoices', '{"settled":"x"}'],
    got: ['422', '{"errors":[{"source":{"pointer":"/data/paid"}}]}'],
  },
  {
    title: 'an operation that moved, whose body is made, and the body of its response dropped',
    request: asked('POST /bills/7/close'),
    response: answer('200', '{"data":{}}'),
    sent: ['PATCH /api/v2/invoices/7', '{"state":"closed"}'],
    got: ['204', ''],
  },
  {
    title: 'a body that goes nowhere',
    request: asked('POST /bills/search?a=1', '{"paid":true}'),
    response: answer(),
    sent: ['GET /api/v2/found?a=1', ''],
    got: ['200', '{"data":{}}'],
  },
  {
    title: 'a body of another type',
    request: asked('POST /bills', '{"paid":1}', typed('text/plain')),
    response: answer('404', 'none', typed('text/plain')),
    sent: ['POST /api/v2/invoices', '{"paid":1}'],
    got: ['404', 'none'],
  },
  {
    title: 'a value that no rule converts',
    request: asked('POST /bills', '{"data":{"sum":"x"}}'),
    response: answer(),
    sent: undefined,
    got: ['422', 'unconvertible-value /data/sum'],
  },
  {
    title: 'no JSON',
    request: asked('POST /bills', '{"data":{},}'),
    response: answer(),
    sent: undefined,
    got: ['400', 'malformed-json'],
  },
  {
    title: 'a digest of other bytes',
    request: asked(
      'POST /bills',
      '{"paid":1}',
      typed('application/json', ['content-md5', `${'A'.repeat(22)}==`]),
    ),
    response: answer(),
    sent: undefined,
    got: ['400', 'digest-mismatch'],
  },
  {
    title: 'a transform that fails',
    request: asked('POST /made', '{"fails":true}'),
    response: answer(),
    sent: undefined,
    got: ['502', 'transform-failed'],
  },
  {
    title: 'a path that two read in two ways',
    request: asked('GET /bills/../x'),
    response: answer(),
    sent: undefined,
    got: ['400', 'bad-target'],
  },
];

/** The rule book of these exchanges. */
export function oneOfEachBook(): Promise<CompiledRuleBook> {
  return compiledRuleBookIn(new URL('../cases/one-of-each/rules.yaml', import.meta.url));
}

/** The modules that it names. */
export async function oneOfEachModules(): Promise<Readonly<Record<string, TransformModule>>> {
  const { href } = new URL('../cases/one-of-each/made.js', import.meta.url);
  return { './made.js': (await import(href)) as TransformModule };
}
