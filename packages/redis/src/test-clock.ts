/**
 * The test hook `{ [TEST_CLOCK]: clock }` in the options: the script and the denial cache use this clock instead of the
 * server's. Not exported, because processes with different clocks would not share limits exactly.
 */
export const TEST_CLOCK = Symbol('tidegate.test-clock')
