import { tokenName } from '../../json/json-pointer.ts';
import { type CensusRow, MAX_ROW_CLIENTS } from '../census/census-row.ts';
import { judgeRows, type Judgement } from './strip-evidence.ts';
import { terminalText } from '../text/untrusted-text.ts';

/** A member to strip from the requests of an operation. */
export interface StripProposal {
  /** Operation id; absent for every operation without a name. */
  readonly operation?: string;
  /** Member names joined by dots, of the object that has the member; absent for the body itself. */
  readonly in?: string;
  readonly member: string;
  /** The counts of each source. */
  readonly why: string;
  /** Clients whose requests the rule would change, the first ten. */
  readonly clients: readonly string[];
}

/** An attribute that something speaks against, without enough evidence for a rule. */
export interface Suspect {
  readonly operation: string;
  readonly pointer: string;
  readonly why: string;
  readonly clients: readonly string[];
}

/** Rules that the census proposes, and attributes for which it does not know. */
export interface Proposals {
  readonly strips: readonly StripProposal[];
  readonly suspects: readonly Suspect[];
}

/** Proposes `strip` rules for names that no rule handles and that V2 does not take, with the evidence of every source. */
export function proposeStrips(rows: readonly CensusRow[]): Proposals {
  const judged = judgeRows(rows);
  const places = new Set(judged.filter(({ verdict }) => verdict === 'strip').map(({ row }) => placeOf(row)));
  const outer = judged.filter(({ row }) => !isInside(row, places));
  const isStrip = ({ verdict, row }: Judgement): boolean => verdict === 'strip' && isPath(row.pointer);
  return {
    strips: outer.filter(isStrip).map(({ row, why }) => stripOf(row, why)),
    suspects: outer
      .filter((judgement) => !isStrip(judgement))
      .map(({ row: { operation, pointer, clients }, why }) => ({ operation, pointer, why, clients })),
  };
}

/** Id of the change that holds the proposed rules of an operation. */
export function changeIdOf(operation: string | undefined): string {
  return `removed-from-${(operation ?? 'other').replaceAll(/[^a-z0-9]+/gi, '-').replaceAll(/^-|-$/g, '')}`;
}

/** Summary of a change that holds proposed rules. */
export const CHANGE_SUMMARY = 'Attributes that V2 does not take.';

/** Prints proposals as YAML to paste under `changes`; empty without any. */
export function proposalYaml(strips: readonly StripProposal[]): string {
  const operations = Map.groupBy(strips, ({ operation }) => operation);
  return [...operations].map(([operation, members]) => printChange(operation, members)).join('');
}

function stripOf({ operation, pointer, clients }: CensusRow, why: string): StripProposal {
  const at = pointer.lastIndexOf('/');
  const inside = pointer.slice(1, Math.max(1, at)).replaceAll('/', '.');
  return {
    ...(operation === '(other)' ? {} : { operation }),
    ...(inside === '' ? {} : { in: inside }),
    member: tokenName(pointer.slice(at + 1)),
    why,
    clients,
  };
}

function placeOf({ operation, pointer }: CensusRow): string {
  return `${operation} ${pointer}`;
}

/** Whether a container of it is already proposed. */
function isInside({ operation, pointer }: CensusRow, places: ReadonlySet<string>): boolean {
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1))
    if (places.has(`${operation} ${pointer.slice(0, end)}`)) return true;
  return false;
}

/** Rule book paths use dots as separators. */
function isPath(pointer: string): boolean {
  return !/[.~]/.test(pointer);
}

function printChange(operation: string | undefined, strips: readonly StripProposal[]): string {
  const places = Map.groupBy(strips, (strip) => strip.in);
  const on = operation === undefined ? 'every' : `[${printName(operation)}]`;
  const rules = [...places].map(([place, members]) => {
    const evidence = members.map(
      ({ member, why, clients }) => `        # ${quotedName(member)}: ${why}; of ${clientWords(clients)}`,
    );
    const inside = place === undefined ? '' : `\n        in: ${printName(place)}`;
    const names = members.map(({ member }) => printName(member)).join(', ');
    return `${evidence.join('\n')}\n      - strip: [${names}]${inside}\n`;
  });
  return `  - id: ${changeIdOf(operation)}\n    summary: ${CHANGE_SUMMARY}\n    on: ${on}\n    request:\n${rules.join('')}`;
}

/** The clients that are listed, and whether there may be more. */
function clientWords(clients: readonly string[]): string {
  const names = clients.map(terminalText).join(', ') || 'unknown clients';
  return clients.length < MAX_ROW_CLIENTS ? names : `${names} and perhaps more`;
}

function quotedName(name: string): string {
  return terminalText(JSON.stringify(name).slice(1, -1));
}

/** Plain words need no quotes in YAML; other text is quoted. */
function printName(name: string): string {
  return /^[a-z_][\w.-]*$/i.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : terminalText(JSON.stringify(name));
}
