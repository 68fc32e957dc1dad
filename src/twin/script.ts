/** A request as a sender puts it on the wire. */
export interface TwinRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** A response, with its content coding removed; field names as they came. */
export interface TwinResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
}

/** The outcome of a request without a response; `fault` says why there was none. */
export interface NoResponse {
  readonly fault: string;
}

/** Sends one request to one service. */
export type Sender = (request: TwinRequest) => Promise<TwinResponse | NoResponse>;

/** One of the two services that a script is played to. */
export interface Side {
  /** Such as `https://api.example`, without a slash at the end. */
  readonly origin: string;
  readonly send: Sender;
}

/** The encoding that turns the text of a body into bytes; `bom` is UTF-8 with a byte order mark. */
type BodyBytes = 'utf-8' | 'latin1' | 'utf-16' | 'bom';

/** One V1 request of a script. `${name}` in target, headers and body stands for a value that an earlier exchange kept. */
export interface ScriptedExchange {
  /** Distinct within its script. */
  readonly name: string;
  readonly method: string;
  /** Raw, from `/api/v1` on. */
  readonly target: string;
  /** In order; a name with `!` in front removes a field that the player would add. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined without a body. */
  readonly body: string | undefined;
  readonly bytes: BodyBytes;
  /** Total length that the body is padded to with spaces, in bytes; 0 without padding. */
  readonly pad: number;
  /** Content coding that the body is sent in. */
  readonly coding: 'gzip' | 'deflate' | undefined;
  /** Values that later exchanges can use, by name: the RFC 6901 pointer of each in the response. */
  readonly keeps: readonly (readonly [name: string, pointer: string])[];
  /** State of the reference services during this exchange: their store is broken, or held by another writer. */
  readonly store: 'broken' | 'busy' | undefined;
  /** The choice for which the responses differ. */
  readonly choice: Choice | undefined;
}

/** A script of V1 requests, played in order from the same starting data. */
export interface Script {
  readonly title: string;
  /** Settings of the reference services, such as `rate: 3`; without meaning for other services. */
  readonly settings: Readonly<Record<string, string>>;
  readonly exchanges: readonly ScriptedExchange[];
}

/** Methods that change nothing at a service (RFC 9110 §9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** True unless the method is safe: the exchange may change data. */
export function isWrite({ method }: ScriptedExchange): boolean {
  return !SAFE_METHODS.has(method);
}

/** Creates an exchange; the parts that most exchanges do not have may be left out. */
export function exchange(
  name: string,
  line: string,
  parts: Partial<ScriptedExchange> = {},
): ScriptedExchange {
  const [method = '', target = ''] = line.split(' ');
  return {
    name,
    method,
    target,
    headers: [],
    body: undefined,
    bytes: 'utf-8',
    pad: 0,
    coding: undefined,
    keeps: [],
    store: undefined,
    choice: undefined,
    ...parts,
  };
}

/** The names in a text that are written `${name}`. */
export function namesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\$\{([\w-]+)\}/g), ([, name = '']) => name);
}

/** A script, or every fault of its text with its line. */
type ScriptReading = { readonly script: Script } | { readonly faults: readonly string[] };

/**
 * Reads a script; the tables of `shared` can be used in it. `# ` starts an exchange with its name, `> ` are the lines of its request (request line, fields, an empty line,
 * body), `! ` its options (`each`, `keep`, `bytes`, `pad`, `coding`, `store`, `choice`); `| ` are the rows of tables, which `each` joins and
 * fills in for `${column}`; `// ` and `## ` are comments. Options before the first exchange are settings of the whole script.
 */
export function readScript(title: string, text: string, shared = ''): ScriptReading {
  const reader = new ScriptReader();
  shared.split(/\r?\n/).forEach((line) => reader.line(line, 0));
  text.split(/\r?\n/).forEach((line, at) => reader.line(line, at + 1));
  const { exchanges, settings, faults } = reader.end();
  if (faults.length > 0) return { faults: faults.map((fault) => `${title}:${fault}`) };
  return { script: { title, settings, exchanges } };
}

/** The form of the first line of a request. */
export const REQUEST_LINE = /^\S+ \S+$/;

/** A header field, or the name of one that must be absent. */
const FIELD = /^(?:[\w!#$%&'*+.^`|~-]+ *:|![\w#$%&'*+.^`|~-]+$)/;

/** Returns what is wrong with a line between the first line of a message and its body; undefined if it is a header field. */
export function fieldFault(line: string): string | undefined {
  return FIELD.test(line)
    ? undefined
    : `${JSON.stringify(line)} is not a header field; a body begins after an empty line`;
}

/** An exchange as written, before tables are filled in. */
interface Template {
  readonly line: number;
  readonly name: string;
  readonly options: [name: string, value: string][];
  readonly request: string[];
}

class ScriptReader {
  private readonly settings: Record<string, string> = {};
  private readonly tables = new Map<string, readonly Row[]>();
  private readonly templates: Template[] = [];
  private readonly faults: string[] = [];
  private rows: { readonly cells: readonly string[]; readonly number: number }[] = [];

  line(line: string, number: number): void {
    if (line.startsWith('|')) {
      this.rows.push({ cells: cellsOf(line), number });
      return;
    }
    this.endTable();
    // Comments in text cases begin with ##, and a script can be made of text cases.
    if (line === '' || line.startsWith('//') || line.startsWith('## ')) return;
    const rest = line.slice(2);
    const template = this.templates.at(-1);
    if (line.startsWith('# ')) this.templates.push({ line: number, name: rest, options: [], request: [] });
    else if (line.startsWith('! ')) this.option(rest, template);
    else if (template !== undefined && /^>(?: |$)/.test(line)) template.request.push(rest);
    else this.faults.push(`${number}: A line starts with “# ”, “> ”, “! ”, “| ” or “// ”.`);
  }

  end(): Pick<Script, 'settings' | 'exchanges'> & { readonly faults: readonly string[] } {
    this.endTable();
    const exchanges: ScriptedExchange[] = [];
    const names = new Set<string>();
    const kept = new Set<string>(['key']);
    for (const template of this.templates) {
      for (const row of this.rowsOf(template)) {
        const read = this.exchange(template, row);
        if (names.has(read.name))
          this.faults.push(`${template.line}: “${read.name}” is the name of two exchanges.`);
        for (const name of unknownNames(read, kept)) {
          this.faults.push(
            `${template.line}: “${read.name}” uses \${${name}}, which no table has and no earlier exchange keeps.`,
          );
        }
        names.add(read.name);
        for (const [name] of read.keeps) kept.add(name);
        exchanges.push(read);
      }
    }
    return { settings: this.settings, exchanges, faults: this.faults };
  }

  private endTable(): void {
    const [columns, ...rows] = this.rows;
    if (columns === undefined) return;
    const uneven = rows.find(({ cells }) => cells.length !== columns.cells.length);
    if (uneven !== undefined)
      this.faults.push(`${uneven.number}: The row must have one cell for each column.`);
    const table = rows.map(({ cells }) =>
      Object.fromEntries(columns.cells.map((column, at) => [column, cells[at] ?? ''])),
    );
    const [first = ''] = Object.keys(table[0] ?? {});
    this.tables.set(first, table);
    this.rows = [];
  }

  private option(text: string, template: Template | undefined): void {
    const [name = '', value = ''] = text.split(/:(.*)/s).map((part) => part.trim());
    if (template === undefined) this.settings[name] = value;
    else template.options.push([name, value]);
  }

  private rowsOf({ line, options }: Template): readonly Row[] {
    const names = options.filter(([name]) => name === 'each').flatMap(([, value]) => value.split(/,\s*/));
    const tables = names.map((name) => {
      const table = this.tables.get(name);
      if (table === undefined)
        this.faults.push(`${line}: There is no table whose first column is “${name}”.`);
      return table ?? [];
    });
    return joinTables(tables);
  }

  private exchange({ line, name, options, request }: Template, row: Row): ScriptedExchange {
    const fill = (text: string): string => fillIn(text, row);
    const [first = '', ...rest] = request;
    const empty = rest.indexOf('');
    const fields = (empty === -1 ? rest : rest.slice(0, empty)).map(fill);
    if (!REQUEST_LINE.test(fill(first)))
      this.faults.push(`${line}: “${fill(name)}” has no request line, such as POST /api/v1/clients.`);
    for (const field of fields) {
      const fault = fieldFault(field);
      if (fault !== undefined) this.faults.push(`${line}: “${fill(name)}”: ${fault}.`);
    }
    const headers = fields.map((field) => {
      const [before = '', value = ''] = field.split(/:(.*)/s);
      return [before.trim(), value.trim()] as const;
    });
    const body = empty === -1 ? undefined : fill(rest.slice(empty + 1).join('\n'));
    const parts = this.parts(
      line,
      options.map(([option, value]) => [option, fill(value)] as const),
    );
    return exchange(fill(name), fill(first), { headers, body, ...parts });
  }

  private parts(line: number, options: readonly (readonly [string, string])[]): Partial<ScriptedExchange> {
    const keeps: (readonly [string, string])[] = [];
    const parts: Partial<ScriptedExchange> = {};
    for (const [name, value] of options) {
      const read = optionOf(name, value);
      if (read === undefined)
        this.faults.push(`${line}: “! ${name}: ${value}” is not an option of an exchange.`);
      else if (read.keeps === undefined) Object.assign(parts, read);
      else keeps.push(...read.keeps);
    }
    return { ...parts, keeps };
  }
}

const BYTES: readonly BodyBytes[] = ['utf-8', 'latin1', 'utf-16', 'bom'];

function optionOf(name: string, value: string): Partial<ScriptedExchange> | undefined {
  const [before = '', after = ''] = value.split('=').map((part) => part.trim());
  const bytes = BYTES.find((known) => known === value);
  if (name === 'each') return {};
  if (name === 'keep' && after.startsWith('/')) return { keeps: [[before, after]] };
  if (name === 'bytes' && bytes !== undefined) return { bytes };
  if (name === 'pad' && /^\d{1,8}$/.test(value)) return { pad: Number(value) };
  if (name === 'coding' && (value === 'gzip' || value === 'deflate')) return { coding: value };
  if (name === 'store' && (value === 'broken' || value === 'busy')) return { store: value };
  if (name === 'choice' && isChoice(value)) return { choice: value };
  return undefined;
}

function unknownNames(
  { name, target, headers, body = '' }: ScriptedExchange,
  kept: ReadonlySet<string>,
): readonly string[] {
  const texts = [name, target, body, ...headers.flat()];
  return texts.flatMap((text) => namesIn(text)).filter((used) => !kept.has(used));
}

/** A row of a table: its cells by column. */
type Row = Readonly<Record<string, string>>;

/**
 * Joins tables as databases do (natural join): every combination of their rows in which columns of the same name have the same
 * cell.
 */
function joinTables(tables: readonly (readonly Row[])[]): readonly Row[] {
  let joined: readonly Row[] = [{}];
  for (const table of tables) {
    joined = joined.flatMap((row) =>
      table.filter((other) => agree(row, other)).map((other) => ({ ...row, ...other })),
    );
  }
  return joined;
}

/** Replaces `${column}` by the cell of a row, also within cells; other names stay. */
function fillIn(text: string, row: Row): string {
  let filled = text;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const next = filled.replaceAll(/\$\{([\w-]+)\}/g, (whole, name: string) => row[name] ?? whole);
    if (next === filled) return filled;
    filled = next;
  }
  return filled;
}

/** Maximum depth of cells within cells, since a cell that names itself would never end. */
const MAX_DEPTH = 8;

/** The cells of a line of a table, `| a | b |`; the first line names the columns. `\|` is a bar within a cell. */
function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));
}

function agree(row: Row, other: Row): boolean {
  return Object.entries(other).every(([column, cell]) => row[column] === undefined || row[column] === cell);
}

/** The reasons why the gateway decides differently from V1 by choice, one sentence each; docs/decisions/differences-from-v1.md explains them. */
export const CHOICES = {
  'ambiguous-head':
    'both refuse; workerd joins the lines of a field, so the gateway cannot tell a key with a comma from two keys',
  'duplicate-member':
    'the gateway refuses a member that rules name if it occurs twice; V1 reads the last one',
  'member-order':
    'the members of an object are in another order, which has no meaning in JSON; rules add members at the end',
  gone: 'V2 no longer has the operation, and the rule book says so: the gateway refuses it',
  'names-of-v2': 'the client sends names that V1 does not know and V2 does, so V2 uses them',
  'refused-first': 'both refuse; the gateway judges the body before the service judges key, path and rate',
} as const;

/** The name of a reason, by which differences are counted. */
export type Choice = keyof typeof CHOICES;

/** Codes with which the gateway refuses a body. */
const OF_BODY: ReadonlySet<string> = new Set([
  'ambiguous-media-type',
  'digest-mismatch',
  'duplicate-member',
  'malformed-form',
  'malformed-json',
  'too-deep',
  'undecodable-body',
  'unsupported-charset',
  'unsupported-coding',
  'wrapper-not-object',
]);

/** Statuses with which a service refuses a request before it reads the body. */
const OF_HEAD: ReadonlySet<number> = new Set([401, 403, 404, 405, 429]);

/**
 * The choice that explains the differences of two responses, from the responses alone; undefined if none does. Responses do not show
 * names of V2: scripts mark them.
 */
export function choiceOf(v1: TwinResponse, gateway: TwinResponse): Choice | undefined {
  const code = gateway.headers.find(([name]) => name.toLowerCase() === 'x-gateway-error')?.[1];
  if (code === 'bad-request' && v1.status === 401) return 'ambiguous-head';
  if (code === 'operation-gone') return 'gone';
  if (code === undefined || !OF_BODY.has(code)) return undefined;
  if (OF_HEAD.has(v1.status)) return 'refused-first';
  return code === 'duplicate-member' ? code : undefined;
}

function isChoice(text: string): text is Choice {
  return Object.hasOwn(CHOICES, text);
}
