/**
 * Starts Java for a program of some seconds: without the compiler and the collector for long ones, which take half of the processor
 * time.
 */
export const JAVA: readonly [program: string, ...flags: string[]] = [
  'java',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
];
