import type { Entry } from '../../rewrite-log/entry.ts';
import { callName } from '../text/call-name.ts';
import { CallGuide } from './guide-call.ts';
import type { GuideChange, GuideDocument, GuideMistake } from './guide-document.ts';
import { remedyOf } from '../remedies.ts';
import { firstUse, recordUse, type Span } from '../tally/span.ts';
import { isMistake, refusalOf } from '../tally/tally-entry.ts';

/** Maximum kinds of calls of one client in a guide, which is for human readers, and of mistakes. */
const MAX_CALLS = 100;
const MAX_MISTAKES = 50;

/** Maximum places of one mistake. */
const MAX_POINTERS = 5;

interface Mistake extends Span {
  readonly call: string;
  readonly code: string;
  readonly pointers: Set<string>;
}

/** Collects the V1 calls of one client, and describes the changes it has to make. */
export class Guide {
  /** The client hash or a prefix of it: entries of other clients do not count. */
  readonly client: string;
  private readonly calls = new Map<string, CallGuide>();
  private readonly mistakes = new Map<string, Mistake>();
  private clientHashes = new Set<string>();
  private requests = 0;
  private omitted = 0;

  constructor(client: string) {
    this.client = client;
  }

  /** Clients whose hash begins with `client`; more than one means that the prefix is too short. */
  get clients(): readonly string[] {
    return [...this.clientHashes];
  }

  add(entry: Entry): void {
    if (entry.route !== 'migrate' || entry.client?.startsWith(this.client) !== true) return;
    this.clientHashes.add(entry.client);
    this.requests += 1;
    const name = callName(entry.operation, entry.method, entry.path);
    const refusal = refusalOf(entry);
    if (refusal !== undefined && isMistake(refusal)) {
      this.addMistake(name, refusal, entry);
      return;
    }
    const known = this.calls.get(name);
    if (known === undefined && this.calls.size >= MAX_CALLS) {
      this.omitted += 1;
      return;
    }
    const call = known ?? new CallGuide(name, entry.method);
    this.calls.set(name, call);
    call.add(entry);
  }

  /** The guide, for a rule book with these changes that leads to this dated release. */
  document(changes: readonly GuideChange[], version: string, name?: string): GuideDocument {
    const [client = this.client] = this.clientHashes;
    const calls = [...this.calls.values()].sort((one, other) => other.count - one.count);
    const used = new Set(calls.flatMap((call) => [...call.changes]));
    return {
      client,
      ...(name === undefined ? {} : { name }),
      requests: this.requests,
      version,
      changes: changes.filter(({ id }) => used.has(id)).map(({ id, summary }) => ({ id, summary })),
      calls: calls.map((call) => call.document()),
      mistakes: [...this.mistakes.values()].map((mistake) => printMistake(mistake)),
      omitted: this.omitted,
    };
  }

  private addMistake(call: string, code: string, { time, pointer }: Entry): void {
    const key = JSON.stringify([call, code]);
    const known = this.mistakes.get(key);
    if (known === undefined && this.mistakes.size >= MAX_MISTAKES) return;
    const mistake = known ?? { ...firstUse(time), call, code, pointers: new Set<string>() };
    if (known !== undefined) recordUse(known, time);
    this.mistakes.set(key, mistake);
    if (pointer !== undefined && mistake.pointers.size < MAX_POINTERS) mistake.pointers.add(pointer);
  }
}

function printMistake({ call, code, pointers, count, last }: Mistake): GuideMistake {
  return { call, code, pointers: [...pointers], count, last, remedy: remedyOf(code) };
}
