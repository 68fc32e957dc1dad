import type { ReportTotals } from '../../report/report-totals.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { ResponsePlan } from '../../rewrite/response-plan.ts';
import { ChangeIndex } from '../../rules/change-index.ts';
import { isRewritten } from '../../rules/rewritten-methods.ts';
import type { Change, RuleBook } from '../../rules/rule-book.ts';
import type { Path, RequestRuleName } from '../../rules/rule.ts';
import type { ChangeView, Hits, OperationView, RulesView, RuleView } from '../api.ts';
import { queryRuleWords, requestRuleWords, responseRuleWords } from './rule-words.ts';

/** The parts of the view of a rule book. */
export interface RulesViewParts {
  readonly rules: CompiledRuleBook;
  /** Time at which it came into force, in milliseconds since 1970. */
  readonly since: number;
  /** The source text of the file. */
  readonly text: string;
  readonly totals: ReportTotals;
}

type Uses = ReturnType<ReportTotals['uses']>;

/** Shows a rule book with its effects. */
export function rulesView({ rules, since, text, totals }: RulesViewParts): RulesView {
  const { ruleBook } = rules;
  /** In the order of the book: those of its requests, and those that only its responses have. */
  const changesOf = (ofRequests: readonly Change[], plans: readonly ResponsePlan[]): readonly string[] =>
    ruleBook.changes
      .filter((change) => ofRequests.includes(change) || plans.some((plan) => plan.changes.has(change.id)))
      .map(({ id }) => id);
  const uses = totals.uses();
  const index = new ChangeIndex(ruleBook.changes);
  const named = ruleBook.operations.map((operation): OperationView => {
    const { id, method, template, assumed } = operation;
    const changes = changesOf(index.of(id, isRewritten(method)), [rules.responsePlan(operation, method)]);
    return { id, method, template, assumed, changes, ...hits(uses.operations, id) };
  });
  const other: OperationView = {
    id: '(other)',
    method: '*',
    template: '/*',
    assumed: false,
    changes: changesOf(
      index.of(undefined, true),
      ['POST', 'GET'].map((method) => rules.responsePlan(undefined, method)),
    ),
    ...hits(uses.operations, '(other)'),
  };
  return {
    hash: ruleBook.hash,
    version: ruleBook.version,
    loadedAt: new Date(since).toISOString(),
    policies: ruleBook.policies,
    operations: [...named, other],
    changes: ruleBook.changes.map((change) => changeView(change, uses)),
    assumptions: assumptionsOf(ruleBook),
    counts: totals.coverage().sentence,
    text,
  };
}

/** Sentences about behaviour that neither the specification nor the documentation shows. */
export function assumptionsOf({ operations, changes }: RuleBook): string[] {
  return [
    ...operations
      .filter(({ assumed }) => assumed)
      .map(({ id, method, template }) => `The path of ${id}, ${method} ${template}, is assumed.`),
    ...changes
      .filter(({ assumed }) => assumed)
      .map(({ id }) => `Where or whether ${id} applies is assumed in part.`),
  ];
}

function changeView(change: Change, uses: Uses): ChangeView {
  const { id, summary, assumed, on, query = [] } = change;
  const ruleView = (rule: RequestRuleName, inside: Path, text: string): RuleView => {
    const counted = hits(uses.rules, `${id} ${rule}`);
    return { rule, in: inside, text, hits: counted.hits, ...last(counted) };
  };
  return {
    id,
    summary,
    assumed,
    on,
    request: [
      ...query.map((rule) => ruleView(rule.rule, [], queryRuleWords(rule))),
      ...change.request.map((rule) =>
        ruleView(rule.rule, 'in' in rule ? rule.in : [], requestRuleWords(rule)),
      ),
    ],
    response: change.response.map((rule) => ({ rule: rule.rule, text: responseRuleWords(rule) })),
    ...hits(uses.changes, id),
  };
}

function hits(spans: Uses['changes'], name: string): Hits {
  const span = spans.get(name);
  return span === undefined ? { hits: 0 } : { hits: span.count, lastHit: span.last };
}

function last({ lastHit }: Hits): { readonly lastHit?: string } {
  return lastHit === undefined ? {} : { lastHit };
}
