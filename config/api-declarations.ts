import { readFileSync } from 'node:fs';
import { type Comment, parseSync } from 'oxc-parser';

/** An exported declaration, as its users see it. */
export interface ApiDeclaration {
  readonly name: string;
  /** Its TSDoc comment as one paragraph. */
  readonly summary: string;
  /** The declaration without bodies and private members. */
  readonly text: string;
  /** Where the names in `text` that are imported come from: name → file. */
  readonly imports: ReadonlyMap<string, ApiSource>;
}

/** An exported name of a file. */
export interface ApiSource {
  readonly file: URL;
  readonly name: string;
}

/** A syntax node, of which only the parts in use are declared. */
type Node = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly start: number;
  readonly end: number;
};

/** A module read from a file: its own exports, those that it hands on, and its imports. */
export interface ApiModule {
  readonly declared: ReadonlyMap<string, ApiDeclaration>;
  readonly handedOn: ReadonlyMap<string, ApiSource>;
}

/** Reads the exports of a source file. */
export function readApiModule(file: URL): ApiModule {
  const text = readFileSync(file, 'utf8');
  const { program, comments, errors } = parseSync(file.pathname, text);
  if (errors.length > 0) throw new Error(`${file.pathname}: ${errors[0]?.message}`);
  const reader = new ModuleReader(file, text, comments);
  for (const statement of nodes(program.body)) reader.read(statement);
  return reader;
}

class ModuleReader implements ApiModule {
  readonly declared = new Map<string, ApiDeclaration>();
  readonly handedOn = new Map<string, ApiSource>();
  private readonly imports = new Map<string, ApiSource>();
  private readonly file: URL;
  private readonly text: string;
  private readonly comments: readonly Comment[];

  constructor(file: URL, text: string, comments: readonly Comment[]) {
    this.file = file;
    this.text = text;
    this.comments = comments;
  }

  read(statement: Node): void {
    if (statement.type === 'ImportDeclaration') this.link(statement, 'imported', 'local', this.imports);
    if (statement.type !== 'ExportNamedDeclaration') return;
    if (isNode(statement['source'])) this.link(statement, 'local', 'exported', this.handedOn);
    const declaration = statement['declaration'];
    if (!isNode(declaration) || !isNode(declaration['id'])) return;
    const name = this.slice(declaration['id']);
    const { file, imports } = this;
    // Names of the same file are as if imported: they may be exported, too.
    const known = new Map(imports);
    const text = this.declarationText(declaration);
    for (const [word] of text.matchAll(/\b[A-Z]\w+/g)) {
      if (word !== name && !known.has(word)) known.set(word, { file, name: word });
    }
    this.declared.set(name, { name, summary: this.comment(statement.start), text, imports: known });
  }

  private link(statement: Node, from: string, to: string, into: Map<string, ApiSource>): void {
    const source = isNode(statement['source']) ? String(statement['source']['value']) : '';
    if (!source.startsWith('.')) return;
    for (const specifier of nodes(statement['specifiers'])) {
      const [theirs, ours] = [specifier[from], specifier[to]];
      if (isNode(theirs) && isNode(ours))
        into.set(this.slice(ours), { file: new URL(source, this.file), name: this.slice(theirs) });
    }
  }

  private declarationText(declaration: Node): string {
    const { body } = declaration;
    if (!isNode(body)) return this.slice(declaration);
    if (declaration.type === 'FunctionDeclaration') return `${this.upTo(declaration, body)};`;
    if (declaration.type !== 'ClassDeclaration') return this.slice(declaration);
    const members = nodes(body['body']).flatMap((member) => this.memberText(member));
    return `${this.upTo(declaration, body)} {\n${members.join('\n')}\n}`;
  }

  /** A public member of a class; none for a constructor, because users get objects from functions. */
  private memberText(member: Node): readonly string[] {
    if (member['accessibility'] === 'private' || member['kind'] === 'constructor') return [];
    const comment = this.commentNode(member.start);
    const before = comment === undefined ? '' : `  ${this.text.slice(comment.start, comment.end)}\n`;
    const { value } = member;
    const body = isNode(value) ? value['body'] : undefined;
    const text = isNode(body) ? `${this.upTo(member, body)};` : this.slice(member);
    return [`${before}  ${text}`];
  }

  private comment(start: number): string {
    const comment = this.commentNode(start);
    if (comment === undefined) return '';
    return comment.value
      .split('\n')
      .map((line) => line.replace(/^\s*\*?\s?/, '').trim())
      .filter((line) => line !== '')
      .join(' ');
  }

  private commentNode(start: number): Comment | undefined {
    const comment = this.comments.findLast(({ end }) => end <= start);
    const isBefore = comment !== undefined && this.text.slice(comment.end, start).trim() === '';
    return isBefore && comment.value.startsWith('*') ? comment : undefined;
  }

  private slice({ start, end }: Node): string {
    return this.text.slice(start, end);
  }

  private upTo({ start }: Node, body: Node): string {
    return this.text.slice(start, body.start).trim();
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function nodes(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}
