import { choiceNamed } from './choices.ts';
import { type BodyBytes, exchange, namesIn, type Script, type ScriptedExchange } from './script.ts';
import { fillIn, joinTables, readTable, type Row } from './table.ts';

/** A script, or every fault of its text with its line. */
export type ScriptReading = { readonly script: Script } | { readonly faults: readonly string[] };

/**
 * Reads a script; the tables of `shared` can be used in it. `# ` starts an exchange with its name, `> ` are the lines of its request (request line, fields, an empty line,
 * body), `! ` its options (`each`, `keep`, `bytes`, `pad`, `coding`, `store`, `choice`); `| ` are the rows of tables, which `each` joins and
 * fills in for `${column}`; `// ` are comments. Options before the first exchange are settings of the whole script.
 */
export function readScript(title: string, text: string, shared = ''): ScriptReading {
  const reader = new ScriptReader();
  shared.split(/\r?\n/).forEach((line) => reader.line(line, 0));
  text.split(/\r?\n/).forEach((line, at) => reader.line(line, at + 1));
  const { exchanges, settings, faults } = reader.end();
  if (faults.length > 0) return { faults: faults.map((fault) => `${title}:${fault}`) };
  return { script: { title, settings, exchanges } };
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
  private rows: string[] = [];

  line(line: string, number: number): void {
    if (line.startsWith('|')) {
      this.rows.push(line);
      return;
    }
    this.endTable();
    if (line === '' || line.startsWith('//')) return;
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
    if (this.rows.length === 0) return;
    const table = readTable(this.rows);
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
    const fields = empty === -1 ? rest : rest.slice(0, empty);
    const headers = fields.map((field) => {
      const [before = '', value = ''] = fill(field).split(/:(.*)/s);
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
      if (read === undefined) this.faults.push(`${line}: “! ${name}: ${value}” is no option of an exchange.`);
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
  const choice = choiceNamed(value);
  if (name === 'choice' && choice !== undefined) return { choice };
  return undefined;
}

function unknownNames(
  { name, target, headers, body = '' }: ScriptedExchange,
  kept: ReadonlySet<string>,
): readonly string[] {
  const texts = [name, target, body, ...headers.flat()];
  return texts.flatMap((text) => namesIn(text)).filter((used) => !kept.has(used));
}
