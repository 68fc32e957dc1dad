import type { EditRecord } from '../rewrite/rewrite.ts';

/** How much a client would have to change, by what was done to one of its requests. */
export type Work = 'url-only' | 'unwrap-only' | 'field-work';

/** A change with its rules. */
export interface ChangeSummary {
  readonly change: string;
  readonly rules: readonly string[];
  /** Each rule as `<change> <rule>`, made once: a name that is put together anew is hashed anew. */
  readonly ruleNames: readonly string[];
}

/** What a list of edits says, without pointers. */
export interface EditSummary {
  readonly work: Work;
  /** Each change with its rules, once. */
  readonly changes: readonly ChangeSummary[];
}

/** Sums up edits. The gateway shares lists between like requests, so a summary is made once a list, not once a request. */
export class EditSummaries {
  private readonly known = new WeakMap<readonly EditRecord[], EditSummary>();

  of(edits: readonly EditRecord[]): EditSummary {
    if (edits.length === 0) return NOTHING;
    const known = this.known.get(edits);
    if (known !== undefined) return known;
    const summary = summarise(edits);
    this.known.set(edits, summary);
    return summary;
  }
}

const NOTHING: EditSummary = { work: 'url-only', changes: [] };

function summarise(edits: readonly EditRecord[]): EditSummary {
  const rules = new Map<string, Set<string>>();
  let work: Work = 'url-only';
  for (const edit of edits) {
    if (edit.note === 'already-flat') continue;
    const known = rules.get(edit.change) ?? new Set();
    rules.set(edit.change, known.add(edit.rule));
    if (!isUnwrapping(edit)) work = 'field-work';
    if (work === 'url-only') work = 'unwrap-only';
  }
  const changes = [...rules].map(([change, names]) => ({
    change,
    rules: [...names],
    ruleNames: [...names].map((name) => `${change} ${name}`),
  }));
  return { work, changes };
}

/** What V1 ignored (siblings of the wrapper, a byte order mark) is no work on fields. */
function isUnwrapping(edit: EditRecord): boolean {
  return edit.rule === 'unwrap' || edit.note === 'sibling' || edit.note === 'byte-order-mark';
}
