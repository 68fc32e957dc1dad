import type { RecordChange, RecordPage, RecordStore, Replaced } from '../../rollout/record-store.ts';
import { RECORD_CHANGES, REPLACE_RECORDS, type RedisScript } from './redis-scripts.ts';

/** Runs a script in the server. */
type RunScript = (script: RedisScript, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Records in Redis or Valkey: a hash of texts and a hash of their revisions, which expire together. */
export class RedisRecords implements RecordStore {
  private readonly run: RunScript;
  private readonly keys: readonly string[];
  private readonly keepMs: number;

  /** Nothing is left of records that are not changed for `keepMs`. */
  constructor(run: RunScript, keyOf: (key: string) => string, keepMs: number) {
    this.run = run;
    this.keys = ['report:1:texts', 'report:1:revisions'].map(keyOf);
    this.keepMs = keepMs;
  }

  async changes(after: number, limit: number): Promise<RecordPage> {
    const reply = await this.run(RECORD_CHANGES, this.keys, [String(after), String(limit)]);
    const [life = '', ...fields] = textsOf(reply);
    return {
      life,
      records: Array.from({ length: Math.floor(fields.length / 3) }, (_, index) => ({
        key: fields[index * 3] ?? '',
        revision: Number(fields[index * 3 + 1]),
        text: fields[index * 3 + 2] ?? '',
      })),
    };
  }

  async replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    const fields = changes.flatMap(({ key, revision, text }) => [key, String(revision), text]);
    const reply = await this.run(REPLACE_RECORDS, this.keys, [life, String(this.keepMs), ...fields]);
    const [known, revision] = textsOf(reply);
    return known === undefined ? undefined : { life: known, revision: Number(revision) };
  }
}

function textsOf(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) throw new Error('the server sent no records');
  return reply.map(String);
}
