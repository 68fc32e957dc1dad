import type { RuleBook } from '../rules/rule-book.ts';
import type { TallyEntry } from './tally/tally-entry.ts';
import { terminalText } from './text.ts';

/** A rule book with which a command reads logs. */
export interface GivenBook {
  readonly book: Pick<RuleBook, 'hash' | 'operations'>;
  /** True if none was named: the rule book of the package, used if there is no other. */
  readonly isShipped: boolean;
}

/** Maximum rule books, and operations, that are counted separately. */
const MAX_BOOKS = 100;
const MAX_OPERATIONS = 10_000;

/** Maximum hashes that a sentence names. */
const MAX_NAMED = 3;

/** The rule books that handled the V1 requests of logs, so that a log is not interpreted with the rule book of another API. */
export class LogBooks {
  private readonly hashes = new Set<string>();
  private readonly operations = new Set<string>();

  add({ route, ruleBook, operation }: Pick<TallyEntry, 'route' | 'ruleBook' | 'operation'>): void {
    if (route !== 'migrate') return;
    if (ruleBook !== undefined && this.hashes.size < MAX_BOOKS) this.hashes.add(ruleBook);
    if (operation !== undefined && this.operations.size < MAX_OPERATIONS) this.operations.add(operation);
  }

  /**
   * Says why a rule book cannot be that of the logs; undefined if it may be. One that was named may have been edited since, but must
   * still have some of their operations. The one of the package counts only if it handled a request.
   */
  faultOf({ book: { hash, operations }, isShipped }: GivenBook): string | undefined {
    if (this.hashes.size === 0 || this.hashes.has(hash)) return undefined;
    const hashes = [...this.hashes];
    const named = `${terminalText(hashes.slice(0, MAX_NAMED).join(', '))}${hashes.length > MAX_NAMED ? ', …' : ''}`;
    const theirs = `The requests of the log were handled by ${hashes.length === 1 ? 'the rule book' : 'the rule books'} ${named}`;
    if (isShipped)
      return `${theirs}, and not by the package's own (${hash}), which is used if none is named: name the right one with --rules.`;
    if (this.operations.size === 0 || operations.some(({ id }) => this.operations.has(id))) return undefined;
    return `${theirs}, and this one (${hash}) has none of their operations: name the right one with --rules.`;
  }
}
