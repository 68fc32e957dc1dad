import type { Reporter, TestModule } from 'vitest/node';
import { IS_CI, TOOLS } from './tools.ts';

/** Says in one line for each tool that is not installed how many tests could not run without it. */
export class MissingTools implements Reporter {
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void = (line) => console.error(line)) {
    this.#print = print;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const { tags } of module.children.allTests()) {
        const tool = tags.find(
          (tag) => TOOLS[tag]?.isInstalled() === false || TOOLS[tag]?.isAllowed?.() === false,
        );
        if (tool === undefined) continue;
        const key = `${tool} ${module.project.name}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    for (const [key, count] of counts) {
      const [tool = '', tier = ''] = key.split(' ');
      const { name = tool, isInstalled = () => false } = TOOLS[tool] ?? {};
      this.#print(isInstalled() ? forbiddenSentence(name, tier, count) : sentenceOf(name, tier, count));
    }
  }
}

function sentenceOf(tool: string, tier: string, count: number): string {
  const tests = `${count} ${count === 1 ? 'test' : 'tests'} of the tier ${tier}`;
  return `${tool} is not installed: ${tests} ${IS_CI ? 'failed' : 'skipped'}; \`test/system.sh\` installs it.`;
}

function forbiddenSentence(tool: string, tier: string, count: number): string {
  return `${tool} is not allowed here: ${count} ${count === 1 ? 'test' : 'tests'} of the tier ${tier} skipped.`;
}
