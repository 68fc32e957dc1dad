import type { EditRecord } from '../../rewrite/rewrite.ts';

/** Work for a client, according to the edits of one of its requests. */
export type Work = 'url-only' | 'unwrap-only' | 'field-work';

/** A change with its rules. */
export interface ChangeSummary {
  readonly change: string;
  readonly rules: readonly string[];
  /** Each rule as `<change> <rule>`, created once: a new string would be hashed again. */
  readonly ruleNames: readonly string[];
}

/** Summary of a list of edits, without pointers. */
export interface EditSummary {
  readonly work: Work;
  /** Each change with its rules, once. */
  readonly changes: readonly ChangeSummary[];
}

/** Summarises edits. The gateway shares lists between similar requests, so a summary is made once per list, not per request. */
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

/** Members that V1 ignored (siblings of the wrapper, a byte order mark) are no field work. */
function isUnwrapping(edit: EditRecord): boolean {
  return edit.rule === 'unwrap' || edit.note === 'sibling' || edit.note === 'byte-order-mark';
}
