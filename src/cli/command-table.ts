import type { Command } from 'commander';

/** A command of the program. Its definition is loaded only when the command is used, and its work when it runs. */
export interface CommandEntry {
  readonly name: string;
  /** Heading of the command in `--help`. */
  readonly group: string;
  readonly summary: string;
  /** Loads the function that adds description, arguments, options and subcommands. */
  readonly load: () => Promise<(command: Command) => void>;
}

const RUN = 'Run:';
const RULES = 'Work on rules:';
const CLIENTS = 'See who uses V1:';
const ROLLOUT = 'Move traffic to V2:';
const SHELL = 'Shell:';

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    group: RUN,
    summary: 'run the gateway',
    load: async () => (await import('./commands.ts')).serve,
  },
  {
    name: 'demo',
    group: RUN,
    summary: 'play a whole migration, step by step, or show one request for each operation',
    load: async () => (await import('./commands.ts')).demo,
  },
  {
    name: 'reference',
    group: RUN,
    summary: 'run the reference service alone',
    load: async () => (await import('./commands.ts')).reference,
  },
  {
    name: 'init',
    group: RULES,
    summary: 'write settings, a drafted rule book and first cases from two OpenAPI descriptions',
    load: async () => (await import('./commands.ts')).init,
  },
  {
    name: 'check',
    group: RULES,
    summary: 'validate settings and rule book, and list operations and changes',
    load: async () => (await import('./commands.ts')).check,
  },
  {
    name: 'explain',
    group: RULES,
    summary: 'show what the gateway would do with a request, without sending it',
    load: async () => (await import('./commands.ts')).explain,
  },
  {
    name: 'test',
    group: RULES,
    summary: 'play text cases through the rule book: a request, what V2 gets, and the responses',
    load: async () => (await import('./commands.ts')).test,
  },
  {
    name: 'replay',
    group: RULES,
    summary: 'compare a changed rule book with recorded requests',
    load: async () => (await import('./commands.ts')).replay,
  },
  {
    name: 'draft',
    group: RULES,
    summary: 'draft a rule book from two OpenAPI descriptions, or from recorded traffic',
    load: async () => (await import('./commands.ts')).draft,
  },
  {
    name: 'openapi',
    group: RULES,
    summary: "print V1's OpenAPI description, derived from V2's and the rule book",
    load: async () => (await import('./commands.ts')).openapi,
  },
  {
    name: 'report',
    group: CLIENTS,
    summary: 'list the clients that still need V1, from the rewrite log',
    load: async () => (await import('./commands.ts')).report,
  },
  {
    name: 'plan',
    group: CLIENTS,
    summary: 'plan the end of V1: dates and brownouts, from the rhythm of each client; rehearse brownouts',
    load: async () => (await import('./commands.ts')).plan,
  },
  {
    name: 'clients',
    group: CLIENTS,
    summary: 'hash API keys, and give clients names',
    load: async () => (await import('./commands.ts')).clients,
  },
  {
    name: 'tail',
    group: CLIENTS,
    summary: 'print the rewrite log in a readable form',
    load: async () => (await import('./commands.ts')).tail,
  },
  {
    name: 'rollout',
    group: ROLLOUT,
    summary: 'show and change the mode of V1 traffic',
    load: async () => (await import('./commands.ts')).rollout,
  },
  {
    name: 'twin',
    group: ROLLOUT,
    summary: 'play V1 requests to V1 and to the gateway, and compare the responses',
    load: async () => (await import('./commands.ts')).twin,
  },
  {
    name: 'completion',
    group: SHELL,
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands.ts')).completion,
  },
];
