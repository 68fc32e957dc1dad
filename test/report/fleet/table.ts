/** Judgement of one statement of the report against the characters. */
export type Judgement = 'right' | 'not-known' | 'wrong';

/** Counts of one kind of statement. */
export interface StatementRow {
  readonly statement: string;
  right: number;
  notKnown: number;
  wrong: number;
}

/** The table of all statements checked, with the first wrong ones in words. */
export class StatementTable {
  readonly faults: string[] = [];
  private readonly rows = new Map<string, StatementRow>();

  /** Counts a statement; `fault` describes a wrong one. */
  add(statement: string, judgement: Judgement, fault: () => string): void {
    const row = this.rows.get(statement) ?? { statement, right: 0, notKnown: 0, wrong: 0 };
    this.rows.set(statement, row);
    if (judgement === 'right') row.right += 1;
    else if (judgement === 'not-known') row.notKnown += 1;
    else {
      row.wrong += 1;
      if (this.faults.length < MAX_FAULTS) this.faults.push(`${statement}: ${fault()}`);
    }
  }

  /** Counts a statement that is right or wrong. */
  check(statement: string, stated: unknown, truth: unknown, who: string): void {
    const one = JSON.stringify(stated);
    const other = JSON.stringify(truth);
    this.add(statement, one === other ? 'right' : 'wrong', () =>
      `${who}: the report has ${one}, true is ${other}`.slice(0, 400),
    );
  }

  get all(): readonly StatementRow[] {
    return [...this.rows.values()];
  }

  get wrong(): number {
    return this.all.reduce((sum, { wrong }) => sum + wrong, 0);
  }

  /** The table in Markdown. */
  print(): string {
    const total = { statement: 'all', right: 0, notKnown: 0, wrong: 0 };
    for (const row of this.all) {
      total.right += row.right;
      total.notKnown += row.notKnown;
      total.wrong += row.wrong;
    }
    const lines = [...this.all, total].map(
      ({ statement, right, notKnown, wrong }) =>
        `| ${statement} | ${right + notKnown + wrong} | ${right} | ${notKnown} | ${wrong} |`,
    );
    return ['| statement | checked | right | not known | wrong |', '|---|---|---|---|---|', ...lines].join(
      '\n',
    );
  }
}

const MAX_FAULTS = 12;
