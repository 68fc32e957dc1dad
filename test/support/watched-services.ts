import { loadInspectorPage } from '../../src/cli/serve/serving-files.ts';
import { createOperators, type Operators } from '../../src/node/admin/operators.ts';
import { type LoadedRuleBook, RuleBooks, type RuleBookOutcome } from '../../src/node/rule-books.ts';
import { compiledTestRuleBook } from './rule-book.ts';
import { rolloutOf, type TwoServices, twoServices } from './two-services.ts';
import { testSettings } from './settings.ts';

/** A gateway between two services, with its inspector. */
export interface WatchedServices extends TwoServices {
  readonly operators: Operators;
  readonly ruleBooks: RuleBooks;
}

/** Starts one, as `twoServices` does; `load` reads the rule book again. */
export async function watchedServices(
  modes: Parameters<typeof twoServices>[0],
  responses: Parameters<typeof twoServices>[1] = {},
  options: Parameters<typeof twoServices>[2] & {
    readonly load?: (first: LoadedRuleBook) => RuleBookOutcome;
  } = {},
): Promise<WatchedServices> {
  const { load = (first: LoadedRuleBook) => first, ...rest } = options;
  const rules = compiledTestRuleBook({ rollout: rolloutOf(modes, rest.rollout), ...rest.ruleBook });
  const book = { rules, text: '' };
  const ruleBooks = new RuleBooks(book, () => Promise.resolve(load(book)), Date.now);
  let gatewayOrigin = '';
  let page: ReturnType<typeof loadInspectorPage> | undefined;
  const operators = await createOperators({
    settings: testSettings(rest.flags),
    ruleBooks,
    sink: { dropped: 0 },
    origin: 'http://v2.test',
    v1Origin: 'http://v1.test',
    gatewayOrigin: () => gatewayOrigin,
    version: '0.0.0-test',
    program: 'capture-gateway',
    page: () => (page ??= loadInspectorPage()),
  });
  const services = await twoServices(modes, responses, {
    ...rest,
    parts: { ruleBooks, observer: operators.observer, admin: operators.admin, ...rest.parts },
  });
  gatewayOrigin = services.gateway.origin;
  return { ...services, operators, ruleBooks };
}
